import { Secret, TOTP } from 'otpauth';

/** Parameters that every authenticator application supports. */
const PARAMETERS = { algorithm: 'SHA1', digits: 6, period: 30 };
/** Tolerated difference of the authenticator's clock, in steps of 30 s. */
const WINDOW = 1;
const SECRET_BYTES = 20;

/** Returns a new TOTP secret in base32. */
export function newTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32;
}

/** Returns the `otpauth://` URI that authenticator applications read from a QR code. */
export function totpUri(secret: string, email: string): string {
  return new TOTP({ ...PARAMETERS, issuer: 'Ranvier', label: email, secret }).toString();
}

/** Returns the time step of a code; null if the code is not valid now. The caller must prevent reuse of a step. */
export function totpCounter(secret: string, code: string, now: Date): number | null {
  const timestamp = now.getTime();
  const totp = new TOTP({ ...PARAMETERS, secret });
  const delta = totp.validate({ token: code, timestamp, window: WINDOW });
  return delta === null ? null : totp.counter({ timestamp }) + delta;
}
