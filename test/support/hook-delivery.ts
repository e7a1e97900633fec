import { createHmac, randomUUID } from 'node:crypto';

export interface Hook {
  id: string;
  secret: string;
}

/** Sends a signed delivery to an incoming webhook. A repeated delivery has the same id. */
export function deliver(
  { apiPort }: { apiPort: number },
  { id, secret }: Hook,
  event: string,
  payload: object,
  delivery: string = randomUUID(),
): Promise<Response> {
  const body = JSON.stringify(payload);
  return fetch(`http://127.0.0.1:${apiPort}/api/hooks/${id}`, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': delivery,
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
  });
}
