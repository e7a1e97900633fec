import { expect } from 'chai';
import { type TSchema, Type } from 'typebox';
import { createAjv, Name, Nullable, Strict, Uuid } from '../../../../api/http/schema.js';
import { SaveCanvasBody } from '../../../../api/resources/canvas/schema.js';
import { CreateServiceBody } from '../../../../api/resources/services/schema.js';
import { ShellBody } from '../../../../api/resources/shells/schema.js';
import { problemsOf } from '../../../../shared/core/schema-problems.js';

describe('What is wrong with a request', () => {
  const ajv = createAjv();
  const told = (schema: TSchema, value: unknown): string[] =>
    problemsOf(ajv.compile(schema), value, '').map(({ path, message }) => `${path} ${message}`);
  const ofField = (name: string, value: unknown): string[] =>
    told(CreateServiceBody, { name: 'a', kind: 'web', configuration: { [name]: value } }).map((text) =>
      text.replace(`/configuration/${name}`, '').trim(),
    );

  it('says what a text has to look like, not its regular expression', () => {
    expect(ofField('rootDirectory', '../..')).to.deep.equal([
      'must be a path inside the repository: no / at its start, no .. and no backslash',
    ]);
    expect(ofField('branch', '-x').join()).to.match(/^must be the name of a branch: letters, digits/);
    expect(ofField('healthCheckPath', 'health').join()).to.match(/^must be empty, or a path such as \/health/);
    expect(told(CreateServiceBody, { name: 'a', kind: 'web', variables: [{ key: '1A', value: '' }] })).to.deep.equal([
      '/variables/0/key must be a name of letters, digits and _, without a digit at its start',
    ]);
  });

  it('gives an example of a format', () => {
    expect(ofField('schedule', '* * *')).to.deep.equal(['must be a schedule of five fields, such as 0 * * * *']);
    expect(ofField('timezone', 'Mars')).to.deep.equal(['must be the name of a time zone, such as Europe/Berlin']);
    expect(told(Strict({ id: Uuid }), { id: 'x' })).to.deep.equal(['/id must be a UUID']);
  });

  it('says of a text of a wrong length only that', () => {
    expect(told(Strict({ name: Name }), { name: 'x'.repeat(5000) })).to.deep.equal([
      '/name must have at most 100 characters',
    ]);
    expect(told(Strict({ name: Name }), { name: '' })).to.deep.equal(['/name must not be empty']);
    expect(told(Strict({ name: Name }), { name: ' ' })).to.deep.equal([
      '/name must be one line with a visible character and without control characters',
    ]);
  });

  it('says of a value that may be null what is wrong with it, and nothing of null', () => {
    const body = { revision: 0, positions: {}, viewport: { x: 0, y: 0, zoom: 5 } };
    expect(told(SaveCanvasBody, body)).to.deep.equal(['/viewport/zoom must be at most 4']);
    expect(told(Strict({ limit: Nullable(Type.Integer()) }), { limit: 'x' })).to.deep.equal([
      '/limit must be an integer',
    ]);
  });

  it('says of a value with two possible types only what is wrong with the type that it has', () => {
    expect(told(ShellBody, { command: '' })).to.deep.equal(['/command must not be empty']);
    expect(told(ShellBody, { command: [] })).to.deep.equal(['/command must not be empty']);
    expect(told(ShellBody, { command: ['a', 1] })).to.deep.equal(['/command/1 must be a string']);
    expect(told(ShellBody, { command: 1 })).to.deep.equal(['/command must be a string', '/command must be an array']);
  });

  it('describes every pattern of a body that a caller sends', () => {
    const bare: string[] = [];
    const look = (schema: unknown, path: string): void => {
      if (typeof schema !== 'object' || schema === null) return;
      if ('pattern' in schema && typeof schema.pattern === 'string' && !('description' in schema)) bare.push(path);
      for (const [name, part] of Object.entries(schema)) look(part, `${path}/${name}`);
    };
    look(CreateServiceBody, 'CreateServiceBody');
    look(SaveCanvasBody, 'SaveCanvasBody');
    expect(bare).to.deep.equal([]);
  });

  it('counts characters, of which some have two UTF-16 units', () => {
    const schema = Type.String({ maxLength: 4 });
    for (const text of ['', 'abcd', '😀😀😀😀', 'ab😀d']) expect(told(schema, text), text).to.deep.equal([]);
    for (const text of ['abcde', '😀😀😀😀e', '😀😀😀😀😀', 'abcdefghi']) {
      expect(told(schema, text), text).to.deep.equal([' must have at most 4 characters']);
    }
  });

  it('does not compare the errors of a body that has a hundred thousand', () => {
    const variables = Array.from({ length: 100_000 }, () => ({ key: '1', value: '' }));
    const wrong = told(CreateServiceBody, { name: 'a', kind: 'web', variables });
    expect(wrong).to.have.length(20);
    expect(wrong[0]).to.equal('/variables must have at most 500 entries');
  });
});
