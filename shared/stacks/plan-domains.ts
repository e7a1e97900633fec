import type { ErrorDetail } from '../core/error-registry.js';
import type { EnvironmentState, ServiceState } from './environment-state.js';
import type { Matches, ServiceMatch } from './match-resources.js';
import type { Step } from './model.js';
import { type Change, type FieldChange, fieldChange } from './plan-model.js';
import type { DomainWish, ServiceWish } from './wish.js';

/** Plans which host names a service gets and loses. `redirectSteps` sets their redirects. */
export function planDomains(
  { name: service, domains }: ServiceWish,
  state: ServiceState | null,
): { changes: Change[]; steps: Step[] } {
  const before = state?.domains ?? [];
  const removed = before.filter(({ name }) => !has(domains, name)).map(({ name }) => name);
  const added = domains.filter(({ name }) => !has(before, name)).map(({ name }) => name);
  return {
    changes: [
      ...removed.map((name): Change => ({ action: 'delete', kind: 'domain', name, fields: [] })),
      ...domains.flatMap(({ name, redirectTo }): Change[] => {
        const isNew = added.includes(name);
        const fields: FieldChange[] = [
          ...(isNew ? [{ path: '/service', from: null, to: service }] : []),
          ...fieldChange('/redirectTo', targetOf(before, name), redirectTo),
        ];
        return fields.length === 0 ? [] : [{ action: isNew ? 'create' : 'update', kind: 'domain', name, fields }];
      }),
    ],
    steps: [
      ...removed.map((hostname): Step => ({ op: 'domain.delete', service, hostname })),
      ...added.map((hostname): Step => ({ op: 'domain.create', service, hostname })),
    ],
  };
}

/** Returns the steps that change redirects, in an order that never chains two redirects. */
export function redirectSteps(services: readonly ServiceMatch[]): Step[] {
  const changed = services.flatMap(({ wish, state }) =>
    wish.domains
      .map(({ name, redirectTo }) => ({ name, redirectTo, before: targetOf(state?.domains ?? [], name) }))
      .filter(({ redirectTo, before }) => redirectTo !== before)
      .map((domain) => ({ ...domain, service: wish.name })),
  );
  return [
    ...changed.filter(({ redirectTo }) => redirectTo === null),
    ...changed.filter(({ redirectTo, before }) => redirectTo !== null && before !== null),
    ...changed.filter(({ redirectTo, before }) => redirectTo !== null && before === null),
  ].map(({ service, name: hostname, redirectTo }) => ({ op: 'domain.redirect', service, hostname, redirectTo }));
}

/** Returns problems: host names that another service keeps, and redirects that form a chain or a loop. */
export function domainProblems({ services }: Matches, state: EnvironmentState): ErrorDetail[] {
  const freed = new Set<string>();
  for (const { wish, state: service } of services)
    for (const { name } of service?.domains ?? []) if (!has(wish.domains, name)) freed.add(name);
  const targets = new Map(
    Object.entries(state.domains).map(([name, { redirectTo }]) => [name, freed.has(name) ? null : redirectTo]),
  );
  for (const { wish } of services) for (const { name, redirectTo } of wish.domains) targets.set(name, redirectTo);
  return services.flatMap(({ wish, state: service }) =>
    wish.domains.flatMap(({ name, redirectTo }, index) => {
      const path = `${wish.path}/domains/${index}`;
      const problems: ErrorDetail[] = [];
      const holder = Object.hasOwn(state.domains, name) ? state.domains[name] : undefined;
      if (holder !== undefined && holder.serviceId !== service?.id && !freed.has(name))
        problems.push({ path, message: `belongs to the service ${holder.service} of this workspace` });
      if (redirectTo === null) return problems;
      const [other] = [...targets].find(([each, to]) => to !== null && (each === redirectTo || to === name)) ?? [];
      if (other !== undefined) {
        const message = other === name ? 'is the domain itself' : `makes a chain of redirects with ${other}`;
        problems.push({ path: `${path}/redirectTo`, message });
      }
      return problems;
    }),
  );
}

function has(domains: readonly DomainWish[], name: string): boolean {
  return domains.some((domain) => domain.name === name);
}

function targetOf(domains: readonly DomainWish[], name: string): string | null {
  return domains.find((domain) => domain.name === name)?.redirectTo ?? null;
}
