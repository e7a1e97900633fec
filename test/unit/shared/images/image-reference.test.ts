import { expect } from 'chai';
import { canonicalRegistry, imageProblem, isRegistry, parseImage } from '../../../../shared/images/image-reference.js';

const DIGEST = `sha256:${'ab'.repeat(32)}`;

describe('Names of images', () => {
  const names: [text: string, registry: string, path: string, tag: string, digest?: string][] = [
    ['nginx', 'docker.io', 'library/nginx', 'latest'],
    ['nginx:1.27', 'docker.io', 'library/nginx', '1.27'],
    ['team/app:v1', 'docker.io', 'team/app', 'v1'],
    ['index.docker.io/nginx', 'docker.io', 'library/nginx', 'latest'],
    ['localhost/app', 'localhost', 'app', 'latest'],
    ['localhost:5000/a/b/c', 'localhost:5000', 'a/b/c', 'latest'],
    ['registry.example.com:5000/team/app:v1', 'registry.example.com:5000', 'team/app', 'v1'],
    [`registry.example.com/app@${DIGEST}`, 'registry.example.com', 'app', 'latest', DIGEST],
    [`app:v1@${DIGEST}`, 'docker.io', 'library/app', 'v1', DIGEST],
  ];
  for (const [text, registry, path, tag, digest = null] of names) {
    it(`${text.slice(0, 50)} is ${path} at ${registry}`, () => {
      expect(parseImage(text)).to.deep.equal({ registry, path, name: `${registry}/${path}`, tag, digest });
    });
  }

  for (const text of [
    ...['', ' ', 'Nginx', '-x', '--help', 'a b', 'a//b', '/a', 'a/', '../a', 'a:', 'a:b:c', 'a@sha256:12', 'a@b@c'],
    ...['https://registry.example.com/app', 'a?b=c', 'a%2fb', 'a\nb', `a@md5:${'a'.repeat(32)}`, 'host:99999999/a'],
  ]) {
    it(`${JSON.stringify(text)} is none`, () => {
      expect(parseImage(text)).to.equal(null);
    });
  }

  it('are refused at private addresses, and where they are those of other services', () => {
    const policy = { allowLocal: false, ownPrefix: 'registry.example.com/ours/ranvier' };
    expect(imageProblem('nginx', policy, false)).to.equal(null);
    expect(imageProblem('', policy, false)).to.match(/empty/);
    expect(imageProblem('10.0.0.1:5000/app', policy, false)).to.match(/private address/);
    expect(imageProblem('localhost/app', policy, false)).to.match(/private address/);
    expect(imageProblem('10.0.0.1:5000/app', policy, true)).to.equal(null);
    expect(imageProblem('10.0.0.1:5000/app', { ...policy, allowLocal: true }, false)).to.equal(null);
    expect(imageProblem('registry.example.com/ours/ranvier/x', policy, true)).to.match(/has built/);
    expect(imageProblem('registry.example.com/ours/ranvierx', policy, false)).to.equal(null);
  });

  it('begin with a registry, whichever way that is written', () => {
    expect(canonicalRegistry('https://index.docker.io/v1/')).to.equal('docker.io');
    expect(canonicalRegistry(' HTTPS://Registry.Example.com:5000/v2 ')).to.equal('registry.example.com:5000');
    expect([isRegistry('ghcr.io'), isRegistry('127.0.0.1:5000'), isRegistry('a b'), isRegistry('')]).to.deep.equal([
      true,
      true,
      false,
      false,
    ]);
  });
});
