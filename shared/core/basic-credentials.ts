export interface BasicCredentials {
  name: string;
  password: string;
}

/** Returns the credentials of an `Authorization: Basic` header, or null. */
export function basicCredentials(header: string | undefined): BasicCredentials | null {
  const [, encoded = ''] = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(header?.trim() ?? '') ?? [];
  const [name = '', ...password] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return password.length === 0 ? null : { name, password: password.join(':') };
}
