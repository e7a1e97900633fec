/** Returns the forms of a value in program output: itself, escaped (JSON, URL, shell) or in base64. */
export function encodingsOf(value: string): Set<string> {
  return new Set([value, ...escapedForText(value), ...escapedForUrls(value), ...insideBase64(value)]);
}

/** Returns all encodings of a value except base64. */
export function quotingsOf(value: string): Set<string> {
  return new Set([value, ...escapedForText(value), ...escapedForUrls(value)]);
}

function escapedForText(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const ascii = json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return [
    json,
    ascii,
    // The JSON form with unescaped double quotes, which programs print between single quotes.
    json.replaceAll('\\"', '"'),
    json.replaceAll('/', '\\/'),
    value.replaceAll("'", "'\\''"),
    value.replace(/["\\$`]/g, '\\$&'),
  ];
}

function escapedForUrls(value: string): string[] {
  const component = encodeURIComponent(value);
  const strict = component.replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const address = new URL('https://host/');
  address.password = value;
  const forms = [component, strict, strict.replaceAll('%2F', '/'), encodeURI(value), address.password];
  const withPlus = [component, strict].map((form) => form.replaceAll('%20', '+'));
  return [...forms, ...withPlus].flatMap((form) => [form, form.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())]);
}

/** Returns the value's forms inside a longer base64 text, for each alignment of the value's first byte. */
function insideBase64(value: string): string[] {
  const bytes = Buffer.from(value);
  return [0, 1, 2].flatMap((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const first = Math.ceil((shift * 8) / 6);
    const inner = encoded.slice(first, Math.floor(((shift + bytes.length) * 8) / 6));
    const atEnd = encoded.slice(first);
    return [inner, atEnd, atEnd.replace(/=+$/, '')].flatMap((form) => [form, urlSafe(form)]);
  });
}

function urlSafe(base64: string): string {
  return base64.replaceAll('+', '-').replaceAll('/', '_');
}

/** Returns the lines of a value's base64, which tools wrap after 64 or 76 characters. */
export function base64Lines(value: string): string[] {
  const encoded = Buffer.from(value).toString('base64');
  return [64, 76].flatMap((width) =>
    encoded.length <= width ? [] : (encoded.match(new RegExp(`.{1,${width}}`, 'g')) ?? []),
  );
}
