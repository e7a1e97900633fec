import { type Answer, send } from './api-client.js';

/** A session for the duration of `rnv login`, because an API key cannot create another API key. */
export class Session {
  readonly #url: string;
  readonly #signal: AbortSignal;
  readonly #cookies = new Map<string, string>();
  #csrfToken = '';

  constructor(url: string, signal: AbortSignal) {
    this.#url = url;
    this.#signal = signal;
  }

  /**
   * Signs in. Throws ApiError with the code `mfa_required` if a one-time code is missing, and with `unauthenticated` if
   * a credential is wrong.
   */
  async signIn(input: { email: string; password: string; otp?: string }): Promise<{ id: string; name: string }[]> {
    await this.#send('POST', '/api/session', input);
    const { csrfToken, workspaces } = (await this.#send('GET', '/api/bootstrap')) as {
      csrfToken: string;
      workspaces: { id: string; name: string }[];
    };
    this.#csrfToken = csrfToken;
    return workspaces;
  }

  async createKey(workspaceId: string, name: string): Promise<string> {
    const body = { name, scope: 'write' };
    const { secret } = (await this.#send('POST', `/api/v1/workspaces/${workspaceId}/keys`, body)) as { secret: string };
    return secret;
  }

  async signOut(): Promise<void> {
    await this.#send('DELETE', '/api/session', {});
  }

  async #send(method: string, path: string, body?: unknown): Promise<unknown> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = {
      ...(cookie === '' ? {} : { Cookie: cookie }),
      ...(this.#csrfToken === '' ? {} : { 'X-CSRFToken': this.#csrfToken }),
    };
    const answer: Answer = await send(this.#url + path, { method, headers, body, signal: this.#signal });
    for (const header of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=;]+)=([^;]*)/.exec(header) ?? [];
      if (name !== '') this.#cookies.set(name, value);
    }
    return answer.body;
  }
}
