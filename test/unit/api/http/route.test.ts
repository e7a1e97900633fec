import { expect } from 'chai';
import { Type } from 'typebox';
import { defineRoute } from '../../../../api/http/route.js';
import { createAjv } from '../../../../api/http/schema.js';
import { ROUTES } from '../../../../api/resources/index.js';

const response = Type.Object({});
const body = Type.Object({ name: Type.String() }, { additionalProperties: false });
const handler = async () => ({});

describe('A declared route', () => {
  it('has schemas that compile, although the API compiles them with the first request', () => {
    const ajv = createAjv();
    for (const { method, path, query, body } of ROUTES) {
      expect(
        () => [query, ...(body ? [body] : [])].map((schema) => ajv.compile(schema)),
        `${method} ${path}`,
      ).to.not.throw();
    }
  });

  it('that accepts keys is part of the versioned API; its writes keep receipts', () => {
    const shared = { summary: '', description: '', response, handler };
    const read = defineRoute('GET', '/x', 'project.create', shared);
    expect(read).to.include({ root: '/api/v1', status: 200, keyed: false, body: null });
    const write = defineRoute('POST', '/x', 'project.create', { ...shared, body, status: 201 });
    expect(write).to.include({ root: '/api/v1', status: 201, keyed: true });
    expect(Object.keys(write.body?.properties ?? {})).to.deep.equal(['name', 'requestId']);
    const unkeyed = defineRoute('PATCH', '/x', 'project.create', { ...shared, body, keyed: false });
    expect(unkeyed.keyed).to.equal(false);
    expect(unkeyed.body).to.equal(body);
  });

  it('of a session is outside the version and keeps no receipts', () => {
    const write = defineRoute('POST', '/x', 'x.write', {
      access: 'session',
      summary: '',
      description: '',
      body,
      response,
      handler,
    });
    expect(write).to.include({ root: '/api', keyed: false });
    expect(write.body).to.equal(body);
  });

  it('has the access that is stated here, if it needs no key', () => {
    const accesses = ROUTES.flatMap(({ method, path, access }) =>
      access === 'key or session' ? [] : [`${method} ${path}: ${access}`],
    );
    expect(accesses).to.have.members([
      'GET /bootstrap: anyone',
      'POST /session: signing-in',
      'POST /session/link: signing-in',
      'POST /session/invitation: signing-in',
      'DELETE /session: session',
      'GET /session/invitations: session',
      'POST /session/invitations: session',
      'GET /sessions: session',
      'DELETE /sessions/:sessionId: session',
      'DELETE /sessions: session',
      'GET /session/passkeys: session',
      'POST /session/passkeys/options: session',
      'POST /session/passkeys: session',
      'DELETE /session/passkeys/:passkeyId: session',
      'POST /session/passkey/options: signing-in',
      'POST /session/passkey: signing-in',
      'GET /session/mfa: session',
      'POST /session/mfa/backup-codes: session',
      'POST /session/mfa: session',
      'POST /session/mfa/confirm: session',
      'DELETE /session/mfa: session',
      'POST /session/verification: session',
      'POST /session/verification/confirm: anyone',
    ]);
  });
});
