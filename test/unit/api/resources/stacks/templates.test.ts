import { expect } from 'chai';
import { templates } from '../../../../../api/resources/stacks/templates/catalog.js';
import { fillTemplate } from '../../../../../api/resources/stacks/templates/fill-template.js';
import { textOf } from '../../../../../api/resources/stacks/templates/present.js';
import { DATABASE_PLANS, PLANS } from '../../../../../shared/services/plan-catalog.js';
import { planStack } from '../../../../../shared/stacks/plan.js';
import { readDocument } from '../../../../../shared/stacks/read-document.js';
import { placeholdersOf, type Template } from '../../../../../shared/templates/read-template.js';
import { EMPTY } from '../../../shared/stacks/carry-out.js';

const PLAN_MEMORY = new Map([...PLANS, ...DATABASE_PLANS].map(({ id, memoryMb }) => [id as string, memoryMb ?? 0]));

const answersOf = ({ questions }: Template) =>
  Object.fromEntries(questions.map((each) => [each.name, each.default || each.example]));

function planned(template: Template) {
  const { document, secrets } = fillTemplate(template, answersOf(template));
  const { wish } = readDocument(textOf(document), ['example.test']);
  return { wish, ...planStack({ stackId: null, wish, state: EMPTY, values: secrets }) };
}

function textsOf(value: unknown, path: string[] = []): { path: string[]; text: string }[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => textsOf(child, [...path, key]));
}

function parts({
  buildCommand = '',
  startCommand = '',
  image = '',
}: Record<string, string>): { name: string; version: string }[] {
  const commands = `${buildCommand}\n${startCommand}`.matchAll(/^(?:.*&& )?(?:npm (?:install|exec)|npx)(.*)$/gm);
  const packages = [...commands].flatMap(([, words = '']) =>
    words
      .split(' ')
      .filter((word) => /^@?[a-z]/.test(word))
      .map((word) => ({ name: word.replace(/(?<=.)@.*/, ''), version: /(?<=.)@(.*)/.exec(word)?.[1] ?? '' })),
  );
  return image === ''
    ? packages
    : [...packages, { name: image.replace(/[:@][^/]*$/, ''), version: /[:@]([^/]*)$/.exec(image)?.[1] ?? '' }];
}

describe('The catalog of templates', () => {
  for (const template of templates().values()) {
    describe(template.name, () => {
      it('plans against an empty environment, and asks for its secrets', () => {
        const { plan, problems, wish } = planned(template);
        expect(problems).to.deep.equal([]);
        expect(plan.warnings).to.deep.equal([]);
        expect(plan.secrets).to.deep.equal([]);
        expect(plan.deploys.length).to.equal(wish.services.length);
        expect(wish.services.map(({ name }) => name)).to.include(template.name);
        const asked = template.questions.flatMap(({ name, secret }) => (secret ? [name] : []));
        const secrets = wish.services.flatMap(({ name, variables }) =>
          variables.flatMap(({ key, content }) => ('secret' in content ? [`${name}.${key}`] : [])),
        );
        expect(asked.sort()).to.deep.equal(secrets.sort());
      });

      it('uses each question, defines each placeholder, and has none in a command', () => {
        const used = textsOf(template.document().toJS()).flatMap(({ path, text }) =>
          placeholdersOf(text).map((name) => ({ name, path })),
        );
        const open = template.questions.filter(({ secret }) => !secret).map(({ name }) => name);
        expect([...new Set(used.map(({ name }) => name))].sort()).to.deep.equal(open.sort());
        for (const { path } of used) expect(path.at(-1)).not.to.match(/Command$/);
      });

      it('has a hint that fits for each question without a default, and default values of numbers', () => {
        for (const { name, type, default: initial, example, required, secret } of template.questions) {
          if (required) expect(example, name).not.to.equal('');
          if (type === 'number') expect(initial, name).to.match(/^\d+$/);
          if (secret) expect(initial, name).to.equal('');
        }
      });

      it('pins the version of each package and image, among them its own', () => {
        const { services = {} } = template.document().toJS() as { services: Record<string, Record<string, string>> };
        const all = Object.values(services).flatMap(parts);
        expect(all.map(({ version }) => version)).to.include(template.version);
        for (const { image = '' } of Object.values(services)) {
          if (image !== '') expect(image, 'names its registry').to.match(/^[a-z0-9-]+\.[a-z0-9.-]+\//);
        }
        for (const { name, version } of all) {
          expect(version, name).to.match(/^(v?\d+\.\d+\.\d+\S*|sha256:[0-9a-f]{64})$/);
        }
      });

      it('needs no more memory than its plans have', () => {
        const { wish } = planned(template);
        const memory = wish.services.map(({ configuration }) => PLAN_MEMORY.get(configuration.plan ?? 'free') ?? 0);
        expect(memory.reduce((one, other) => one + other, 0)).to.be.at.least(template.memoryMb);
      });
    });
  }
});
