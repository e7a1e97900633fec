import { expect } from 'chai';
import { type Client, type Json, type TestApi, type TestWorkspace, useTestApi } from './api.js';

export const EMPTY = { positions: {}, viewport: null };

export interface TestCanvas {
  api: TestApi;
  workspace: TestWorkspace;
  client: Client;
  canvas: string;
  read: (query?: string) => Promise<Json>;
}

/** Starts an application before the tests of a suite, and makes a workspace before each test. */
export function useTestCanvas(given: (canvas: TestCanvas) => unknown): void {
  let api: TestApi;
  useTestApi((started) => ({ api } = started));
  beforeEach(async () => {
    const workspace = await api.workspace();
    const { client } = workspace.owner;
    const canvas = `${workspace.path}/canvas`;
    const read = async (query = ''): Promise<Json> => {
      const { status, body } = await client.get(canvas + query);
      expect(status, JSON.stringify(body).slice(0, 500)).to.equal(200);
      return body;
    };
    await given({ api, workspace, client, canvas, read });
  });
}

export function idsOf(items: Json[]): string[] {
  return items.map(({ id }) => id);
}
