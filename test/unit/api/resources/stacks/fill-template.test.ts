import { expect } from 'chai';
import fc from 'fast-check';
import { parse } from 'yaml';
import { fillTemplate } from '../../../../../api/resources/stacks/templates/fill-template.js';
import { textOf } from '../../../../../api/resources/stacks/templates/present.js';
import { AppError } from '../../../../../shared/core/error-registry.js';
import { readTemplate } from '../../../../../shared/templates/read-template.js';

const FILE = `
title: Blog
description: A blog
categories: [Publishing]
website: https://blog.example.com
source: https://git.example.com/blog
version: 1.2.3
checked: 2026-01-31
memoryMb: 100
questions:
  - { name: title, label: The title }
  - { name: color, label: The colour, default: red, pattern: '^[a-z]+$' }
  - { name: note, label: A note, required: false }
  - { name: size, label: The size, type: number, default: '1' }
  - { name: blog.TOKEN, label: The token, secret: true, pattern: '^.{8,}$' }
stack:
  services:
    blog: # the site
      kind: web
      variables:
        TITLE: \${title}
        TEXT: a \${color} blog, \${note}; $\${title} stays
        TOKEN: { secret: true }
      volumes: { data: { mountPath: /data, sizeGb: "\${size}" } }
`;
const template = readTemplate('blog', FILE);
const fill = (values: Record<string, string>) => {
  const { document, secrets } = fillTemplate(template, values);
  return { text: textOf(document), value: parse(textOf(document)), secrets };
};
const problems = (values: Record<string, string>): string[] => {
  try {
    fillTemplate(template, values);
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return (error.details ?? []).map(({ path, message }) => `${path} ${message}`);
  }
};

describe('A template', () => {
  it('is filled with answers and defaults, keeps comments, and holds no secret', () => {
    const { text, value, secrets } = fill({ title: 'Mine', 'blog.TOKEN': 'long-enough' });
    expect(text).to.contain('# the site');
    expect(value).to.deep.equal({
      services: {
        blog: {
          kind: 'web',
          variables: { TITLE: 'Mine', TEXT: `a red blog, ; \${title} stays`, TOKEN: { secret: true } },
          volumes: { data: { mountPath: '/data', sizeGb: 1 } },
        },
      },
    });
    expect(secrets).to.deep.equal({ 'blog.TOKEN': 'long-enough' });
    expect(text).not.to.contain('long-enough');
    // A secret can be given later.
    expect(fill({ title: 'Mine' }).secrets).to.deep.equal({});
  });

  it('can be filled again', () => {
    expect(fill({ title: 'one' }).value.services.blog.variables.TITLE).to.equal('one');
    expect(fill({ title: 'two' }).value.services.blog.variables.TITLE).to.equal('two');
  });

  it('names each answer that is missing, unknown or unfit by its path', () => {
    expect(problems({ color: 'Red!', size: 'x', other: 'y', 'blog.TOKEN': 'short' })).to.deep.equal([
      '/values/other is no question of the template',
      '/values/title is needed: The title',
      '/values/color must match ^[a-z]+$: The colour',
      '/values/size must be a whole number',
      '/values/blog.TOKEN must match ^.{8,}$: The token',
    ]);
    expect(problems({ title: 'a\nb' })).to.deep.equal(['/values/title must be one line without control characters']);
    expect(problems({ title: 'x'.repeat(1001) })).to.deep.equal(['/values/title must have at most 1000 characters']);
    expect(problems({ title: '', constructor: 'x' })).to.have.length(2);
  });

  it('keeps its structure, whatever is answered', () => {
    const tricky = fc.constantFrom(
      ...['}', '{ a: b }', `\${color}`, '*x', '&a', '<<', '!!js', 'a: b', '# no', "'", '"', '- ', 'true', '0'],
      ...['$$', '$&'],
    );
    const answer = fc
      .oneof(tricky, fc.string({ minLength: 1, maxLength: 50 }))
      .filter((text) => problems({ title: text }).length === 0);
    fc.assert(
      fc.property(answer, (title) => {
        const { variables, ...rest } = fill({ title, note: title }).value.services.blog;
        expect(variables).to.deep.equal({
          TITLE: title,
          TEXT: `a red blog, ${title}; \${title} stays`,
          TOKEN: { secret: true },
        });
        expect(rest).to.deep.equal({ kind: 'web', volumes: { data: { mountPath: '/data', sizeGb: 1 } } });
      }),
    );
  });

  it('is refused if its file lacks a field or has an unknown one', () => {
    expect(() => readTemplate('blog', FILE.replace('memoryMb: 100', ''))).to.throw("required property 'memoryMb'");
    expect(() => readTemplate('blog', `${FILE}colour: red\n`)).to.throw('must NOT have additional properties');
    expect(() => readTemplate('blog', 'a: [')).to.throw('line 1, column 5');
  });
});
