import { expect } from 'chai';
import { baseOfPage } from '../../../../../workers/builders/result/site-base.js';

const base = (page: string, ...files: string[]) => baseOfPage(page, async (path) => files.includes(path));

describe('The path at which a built page expects its site', () => {
  it('is what its files have before their folders', async () => {
    const vite = '<link rel="icon" href="/x/icon.svg"><script type="module" crossorigin src="/shop/assets/a-1.js">';
    expect(await base(vite, 'assets/a-1.js')).to.equal('/shop');
    expect(await base('<link href=/a/b/main.css rel=stylesheet>', 'main.css')).to.equal('/a/b');
  });

  it('is the address itself if the files are there, elsewhere, or nowhere', async () => {
    const page = '<script src="/shop/assets/a.js"></script>';
    expect(await base(page, 'shop/assets/a.js', 'assets/a.js')).to.equal('');
    expect(await base('<script src="./assets/a.js">', 'assets/a.js')).to.equal('');
    expect(await base('<script src="//host/assets/a.js">', 'assets/a.js')).to.equal('');
    expect(await base('<script src="/a/../../b.js">', 'b.js')).to.equal('');
    expect(await base(page)).to.equal('');
    expect(await base('')).to.equal('');
  });

  it('is the address itself if the files do not agree', async () => {
    const page = '<script src="/a/x.js"></script><script src="/b/y.js"></script>';
    expect(await base(page, 'x.js', 'y.js')).to.equal('');
  });

  it('takes linear time for a hostile page', async () => {
    expect(await base(' src='.repeat(500_000))).to.equal('');
    expect(await base(` src="/${'a/'.repeat(1_000_000)}`)).to.equal('');
  });
});
