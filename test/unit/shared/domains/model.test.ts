import { expect } from 'chai';
import {
  type DomainFacts,
  type DomainVerdict,
  HostnameError,
  judgeDomain,
  type Observation,
  parseHostname,
  proofOf,
} from '../../../../shared/domains/model.js';

const OWN = ['apps.example.net', 'ranvier.example.net'];

describe('domains', () => {
  describe('host names', () => {
    const refused = (given: string) => {
      try {
        return parseHostname(given, OWN);
      } catch (error) {
        expect(error).to.be.instanceOf(HostnameError);
        return error;
      }
    };

    it('are in lower case and in ASCII', () => {
      expect(parseHostname('Shop.Example.COM', OWN)).to.equal('shop.example.com');
      expect(parseHostname('shop.example.com.', OWN)).to.equal('shop.example.com');
      expect(parseHostname('bücher.example', OWN)).to.equal('xn--bcher-kva.example');
      expect(parseHostname('example.com', OWN)).to.equal('example.com');
    });

    it('are names, no addresses, wildcards and parts of addresses', () => {
      const bad = ['shop', '', '.', 'a..b', '-a.example', 'a-.example', 'shop.example.com:80', 'http://shop.example'];
      const worse = ['shop.example/x', 'a b.example', 'user@shop.example', 'shop.123', `${'a'.repeat(64)}.example`];
      for (const given of [...bad, ...worse, `${'abc.'.repeat(70)}example`, 'a%2eb.example', 'shop.example\\x']) {
        expect(refused(given), given).to.be.instanceOf(HostnameError);
      }
      expect(refused('*.example.com')).to.have.property('message').that.includes('wildcard');
      expect(refused('192.0.2.1')).to.have.property('message').that.includes('address');
      expect(refused('2001:db8::1')).to.be.instanceOf(HostnameError);
      expect(refused('printer.local')).to.have.property('message').that.includes('.local');
    });

    it('are none of the platform', () => {
      expect(refused('apps.example.net')).to.have.property('message').that.includes('apps.example.net');
      expect(refused('other.APPS.example.net')).to.be.instanceOf(HostnameError);
      expect(refused('ranvier.example.net')).to.be.instanceOf(HostnameError);
      expect(parseHostname('myapps.example.net', OWN)).to.equal('myapps.example.net');
    });
  });

  describe('are proven by a record', () => {
    it('of the workspace and the name', () => {
      const proof = proofOf('one', 'shop.example');
      expect(proof).to.include({ type: 'TXT', name: '_ranvier.shop.example' });
      expect(proof.value).to.match(/^ranvier-verification=[\w-]{32}$/);
      expect(proofOf('two', 'shop.example').value).not.to.equal(proof.value);
      expect(proofOf('one', 'www.shop.example').value).not.to.equal(proof.value);
    });

    const START = new Date('2026-11-22T12:00:00Z');
    const HOURS = 3_600_000;
    const after = (hours: number) => new Date(START.getTime() + hours * HOURS);
    const NEW: DomainFacts = {
      workspace_id: 'one',
      hostname: 'shop.example',
      status: 'pending',
      missing_since: null,
      leads_here: true,
      created_at: START,
    };
    const saw = (proof: Observation['proof'], leadsHere: boolean | null = null): Observation => ({
      proof,
      leadsHere,
      addresses: leadsHere === false ? ['192.0.2.9'] : [],
    });

    it('and say which record is missing until it is there', () => {
      const verdict = judgeDomain(NEW, saw('missing'), START);
      expect(verdict.status).to.equal('pending');
      expect(verdict.detail)
        .to.include('_ranvier.shop.example does not exist')
        .and.include(proofOf('one', 'shop.example').value);
      expect(judgeDomain(NEW, saw('different'), START).detail).to.include('has another value');
      expect(judgeDomain(NEW, saw('found'), START)).to.include({ status: 'active', detail: '' });
      expect(judgeDomain(NEW, saw('away'), START).status).to.equal('pending');
    });

    it('and stay active until it has been missing for three days in a row', () => {
      let domain: DomainFacts = { ...NEW, status: 'active' };
      const look = (hours: number, proof: Observation['proof']) => {
        const verdict: DomainVerdict = judgeDomain(domain, saw(proof), after(hours));
        domain = { ...domain, ...verdict };
        return verdict.status;
      };
      expect(look(0, 'missing')).to.equal('active');
      // Frequent checks do not make the days pass.
      expect(look(1, 'missing')).to.equal('active');
      expect(look(24, 'found')).to.equal('active');
      expect(look(48, 'missing')).to.equal('active');
      expect(look(72, 'different')).to.equal('active');
      expect(look(84, 'away')).to.equal('active');
      expect(look(96, 'missing')).to.equal('pending');
    });

    it('are looked at each minute at first, and later less often', () => {
      const minutes = (domain: DomainFacts, at: Date, proof: Observation['proof']) =>
        (judgeDomain(domain, saw(proof), at).next_check_at.getTime() - at.getTime()) / 60_000;
      expect(minutes(NEW, START, 'missing')).to.equal(1);
      expect(minutes(NEW, after(10), 'missing')).to.equal(60);
      expect(minutes(NEW, after(1000), 'missing')).to.equal(360);
      expect(minutes(NEW, START, 'found')).to.equal(24 * 60);
      expect(minutes(NEW, START, 'away')).to.equal(10);
    });

    it('and say when they lead elsewhere', () => {
      expect(judgeDomain(NEW, saw('found', false), START)).to.include({
        status: 'active',
        leads_here: false,
        detail: 'shop.example leads to 192.0.2.9, not to this platform',
      });
      expect(judgeDomain({ ...NEW, leads_here: false }, saw('found', null), START).leads_here).to.equal(false);
      expect(judgeDomain({ ...NEW, leads_here: false }, saw('found', true), START)).to.include({
        leads_here: true,
        detail: '',
      });
    });
  });
});
