import { expect } from 'chai';
import type { ApiResponse, Json } from './api.js';
import { assertDocumented } from './openapi.js';

/** An HTTP client that keeps cookies like a browser, and sends the csrfToken of the last `bootstrap`. */
export class Browser {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly cookies = new Map<string, string>();
  csrfToken = '';

  constructor(url: string, headers: Record<string, string> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  /** A header whose value is null is left out. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string | null> = {},
  ): Promise<ApiResponse> {
    const given: Record<string, string | null> = {
      ...this.#headers,
      Cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'X-CSRFToken': method === 'GET' ? null : this.csrfToken,
      'Content-Type': body === undefined ? null : 'application/json',
      ...headers,
    };
    const sent = Object.entries(given).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '');
    const response = await fetch(this.#url + path, {
      method,
      headers: Object.fromEntries(sent),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: ApiResponse = {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Json,
    };
    for (const cookie of response.headers.getSetCookie()) this.#keep(cookie);
    assertDocumented({ method, path, ...answer });
    return answer;
  }

  /** Opens an address without following redirects. Returns where it leads. */
  async navigate(path: string, headers: Record<string, string> = {}): Promise<{ status: number; location: string }> {
    const response = await fetch(this.#url + path, {
      headers: {
        ...this.#headers,
        Cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...headers,
      },
      redirect: 'manual',
    });
    await response.arrayBuffer();
    for (const cookie of response.headers.getSetCookie()) this.#keep(cookie);
    return { status: response.status, location: response.headers.get('location') ?? '' };
  }

  get(path: string): Promise<ApiResponse> {
    return this.send('GET', path);
  }

  post(path: string, body: unknown = {}, headers?: Record<string, string | null>): Promise<ApiResponse> {
    return this.send('POST', path, body, headers);
  }

  delete(path: string, body: unknown = {}): Promise<ApiResponse> {
    return this.send('DELETE', path, body);
  }

  async bootstrap(): Promise<Json> {
    const { status, body } = await this.get('/api/bootstrap');
    expect(status).to.equal(200);
    this.csrfToken = body.csrfToken;
    return body;
  }

  /** Signs in and reads /api/bootstrap. Throws if the sign-in fails. */
  async signIn(email: string, password: string, otp?: string): Promise<Json> {
    const answer = await this.post('/api/session', { email, password, ...(otp === undefined ? {} : { otp }) });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    return this.bootstrap();
  }

  #keep(header: string): void {
    const [pair = '', ...attributes] = header.split(/; */);
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    const expires = attributes.find((attribute) => /^expires=/i.test(attribute))?.slice('expires='.length);
    if (expires !== undefined && Date.parse(expires) <= Date.now()) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
