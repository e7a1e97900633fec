import type { IncomingMessage } from 'node:http';
import type { Engine } from '../../docker/engine.js';
import type { BuilderKind } from './engine-build.js';

/** The builder that the engine names as its own default: BuildKit from version 23 on. */
export async function defaultBuilder({ calls }: Engine): Promise<BuilderKind> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = { path: '/_ping', method: 'GET', isStream: true, statusCodes: { 200: true, 500: 'server error' } };
    calls.modem.dial(request, (error: unknown, answer: unknown) =>
      error ? reject(error) : resolve(answer as IncomingMessage),
    );
  });
  response.resume();
  return response.headers['builder-version'] === '2' ? 'buildkit' : 'classic';
}
