import { expect } from 'chai';
import { projectFiles } from '../../../../../workers/builders/files/project-files.js';
import { dotnet } from '../../../../../workers/builders/languages/dotnet.js';

function plan(texts: Record<string, string>) {
  const { start, build, versions } = dotnet.plan(projectFiles(Object.keys(texts), texts));
  return { start, build: build.join('; '), wish: versions.languages?.[0]?.wish };
}

const solution = (...paths: string[]) =>
  paths.map((path) => `Project("{FAE0}") = "x", "${path}", "{1}"\r\nEndProject`).join('\r\n');
const URLS = `ASPNETCORE_URLS="\${ASPNETCORE_URLS:-http://0.0.0.0:$PORT}"`;
const sdk = (version: string, rollForward?: string) => JSON.stringify({ sdk: { version, rollForward } });

describe('The plan of a .NET project', () => {
  it('publishes the project of the folder and starts its assembly', () => {
    expect(plan({ 'Shop.csproj': '<TargetFramework>net8.0</TargetFramework>' })).to.deep.equal({
      build: 'dotnet publish Shop.csproj -c Release -o .ranvier/app',
      start: `${URLS} dotnet .ranvier/app/Shop.dll`,
      wish: { range: '>=8.0', source: 'Shop.csproj', lowest: true },
    });
    expect(plan({ 'My Shop.fsproj': '<AssemblyName>Shop.Web</AssemblyName>' })).to.deep.include({
      build: "dotnet publish 'My Shop.fsproj' -c Release -o .ranvier/app",
      start: `${URLS} dotnet .ranvier/app/Shop.Web.dll`,
    });
  });

  it('takes the application of a solution, and never one of its tests', () => {
    const build = (...paths: string[]) => plan({ 'All.sln': solution(...paths) }).build;
    const web = 'dotnet publish src/Shop.Web/Shop.Web.csproj -c Release -o .ranvier/app';
    expect(build('src\\Shop.Web\\Shop.Web.csproj')).to.equal(web);
    expect(build('src\\Core\\Core.csproj', 'src\\Shop.Web\\Shop.Web.csproj', 'Shop.Web.Tests.csproj')).to.equal(web);
    expect(build('..\\Other\\Web.csproj')).to.equal('');
    expect(plan({ 'All.slnx': '<Project Path="src/Shop.Web/Shop.Web.csproj" />' }).build).to.equal(web);
  });

  it('starts nothing if several projects may be meant, or if it is a library', () => {
    expect(plan({ 'All.sln': solution('A/One.csproj', 'B/Two.csproj') })).to.deep.include({ start: null, build: '' });
    expect(plan({ 'Lib.csproj': '<OutputType>Library</OutputType>' }).start).to.equal(null);
  });

  for (const [text, range] of [
    [sdk('8.0.110'), '>=8.0.110 <8.0.200'],
    [sdk('8.0.110', 'latestFeature'), '>=8.0.110 <8.1'],
    [sdk('8.0.110', 'latestMinor'), '>=8.0.110 <9'],
    [sdk('8.0.110', 'major'), '>=8.0.110'],
    [sdk('8.0.110', 'disable'), '~8.0.110'],
  ] as const) {
    it(`wants .NET ${range} because of ${text}`, () => {
      expect(plan({ 'global.json': text }).wish).to.deep.equal({ range, source: 'sdk.version in global.json' });
    });
  }
});
