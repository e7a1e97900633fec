import { basicCredentials } from '../../../shared/core/basic-credentials.js';
import { clientKey } from '../../../shared/core/client-address.js';
import { isRedirect, type Move, type MoveRequest, matchMove } from '../../../shared/rules/moves.js';
import { laxPath, matchPath, type RulePath, rulePath } from '../../../shared/rules/path-pattern.js';
import type { Target } from '../../../shared/rules/target-template.js';
import { maintenanceWith, PAGES, type Page, sendPage, sendRedirect } from '../proxy/error-pages.js';
import type { Exchange } from '../proxy/exchange.js';
import type { Guard, HeaderChange, RuleSet, SiteMove } from './rule-set.js';

/** Calls `serve`, possibly later, if the rules admit the request. */
export function applyRules(exchange: Exchange, rules: RuleSet, isSite: boolean, serve: () => void): void {
  new Rules(exchange, rules, isSite, serve).next();
}

class Rules {
  readonly #exchange: Exchange;
  readonly #rules: RuleSet;
  readonly #isSite: boolean;
  readonly #serve: () => void;
  readonly #pathname: string;
  readonly #request: MoveRequest;
  /** The ways in which an application could read the path. A guard applies if it matches one of them. */
  readonly #paths: RulePath[];
  readonly #passed = new Set<Guard>();
  readonly #changes: HeaderChange[] = [];
  #move: SiteMove | null = null;
  #at = 0;

  constructor(exchange: Exchange, rules: RuleSet, isSite: boolean, serve: () => void) {
    this.#exchange = exchange;
    this.#rules = rules;
    this.#isSite = isSite;
    this.#serve = serve;
    const { url = '/' } = exchange.req;
    const mark = url.indexOf('?');
    this.#pathname = printable(mark < 0 ? url : url.slice(0, mark));
    const query = mark < 0 ? '' : url.slice(mark + 1);
    const origin = `${exchange.client.protocol}://${exchange.host}`;
    const path = rulePath(this.#pathname);
    this.#request = { path, query, origin };
    this.#paths = /%2f|%5c|\\/i.test(this.#pathname) ? [path, laxPath(this.#pathname)] : [path];
  }

  next(): void {
    const { steps } = this.#rules;
    while (this.#at < steps.length) {
      const step = steps[this.#at++];
      if (step === undefined) break;
      if (step.type === 'headers') {
        if (matchPath(step.pattern, this.#request.path) !== null) this.#changes.push(step.change);
      } else if (step.type === 'move') {
        if (this.#move === null && this.#moved(step.move)) return;
      } else if (!this.#passes(step, this.#paths)) return;
    }
    this.#end();
  }

  /** If a rule rewrites the path, the guards of the new path apply too. */
  #end(): void {
    const { site, guards } = this.#rules;
    for (const guard of this.#isSite ? site.guards : []) {
      if (!this.#passed.has(guard) && !this.#passes(guard, this.#paths)) return;
    }
    for (const move of this.#isSite && this.#move === null ? site.moves : []) {
      if (this.#moved(move)) return;
      if (this.#move !== null) break;
    }
    const move: SiteMove | null = this.#move;
    if (move !== null && !isRedirect(move.status)) {
      const path = [laxPath(move.target.path)];
      for (const guard of guards) if (!this.#passed.has(guard) && !this.#passes(guard, path)) return;
    }
    const { path } = this.#request;
    const own = this.#isSite ? site.headers.filter(({ pattern }) => matchPath(pattern, path) !== null) : [];
    this.#finish(own.map(({ change }) => change));
    if (move !== null && this.#isSite) this.#exchange.move = move;
    else if (move !== null) this.#exchange.req.url = urlOf(move.target);
    this.#serve();
  }

  #finish(own: readonly HeaderChange[]): void {
    if (own.length + this.#changes.length > 0) this.#exchange.headerChanges = [...own, ...this.#changes];
  }

  /** Returns true if the request has been answered. */
  #moved(move: Move): boolean {
    const target = matchMove(move, this.#request);
    if (target === null) return false;
    const { status, force } = move.rule;
    this.#move = { status, force, target };
    if (!isRedirect(status) || (this.#isSite && !force)) return false;
    this.#finish([]);
    sendRedirect(this.#exchange, status, locationOf(target));
    return true;
  }

  /** Returns true if the guard admits the request now. Calls `next` if the guard admits the request later. */
  #passes(guard: Guard, paths: readonly RulePath[]): boolean {
    if (!paths.some((path) => matchPath(guard.pattern, path) !== null)) return true;
    this.#passed.add(guard);
    switch (guard.type) {
      case 'maintenance':
        return this.#refused(guard.message === '' ? PAGES.maintenance : maintenanceWith(guard.message));
      case 'rateLimit': {
        const client = clientKey(this.#exchange.client.address);
        const waitMs = guard.counts.take(client, guard.requests, guard.perMs, performance.now());
        return waitMs === 0 || this.#refused(limited(waitMs));
      }
      case 'basicAuth':
        return this.#authorized(guard);
    }
  }

  #authorized(guard: Extract<Guard, { type: 'basicAuth' }>): boolean {
    const credentials = basicCredentials(this.#exchange.req.headers.authorization);
    const result = credentials === null ? false : guard.memory.check(guard.users, credentials);
    if (result === true) return true;
    if (result === null) return this.#refused(PAGES.passwordsWait);
    if (result === false) return this.#refused(unauthorized(guard.realm));
    const { containment } = this.#exchange;
    const go = containment.guard((isRight: boolean) => {
      if (this.#exchange.res.destroyed) return;
      if (isRight) this.next();
      else this.#refused(unauthorized(guard.realm));
    });
    void result.then(go, (error) => containment.caught(error));
    return false;
  }

  #refused(page: Page): false {
    sendPage(this.#exchange, page);
    return false;
  }
}

/** Replaces each byte of a request target that is not allowed in a header by `%xx`. */
export function printable(target: string): string {
  return target.replace(/[^\x21-\x7e]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

function urlOf({ path, query }: Target): string {
  return query === '' ? path : `${path}?${query}`;
}

/** Returns the address of a redirect. */
export function locationOf(target: Target): string {
  return printable(`${target.origin}${urlOf(target)}${target.fragment}`);
}

function limited(waitMs: number): Page {
  return { ...PAGES.rateLimited, headers: { 'Retry-After': String(Math.ceil(waitMs / 1_000)) } };
}

function unauthorized(realm: string): Page {
  const challenge = `Basic realm="${realm === '' ? 'Restricted' : realm}", charset="UTF-8"`;
  return { ...PAGES.unauthorized, headers: { 'WWW-Authenticate': challenge } };
}
