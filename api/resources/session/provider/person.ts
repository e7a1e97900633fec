import { hasRole, type Role } from '../../../../shared/identity/policy.js';
import type { SignInSettings } from '../../sign-in/settings-store.js';

export interface ProviderPerson {
  issuer: string;
  subject: string;
  /** The e-mail address, if the provider states that it is verified; otherwise null. */
  verifiedEmail: string | null;
  /** True if the provider states that it asked for a second factor. */
  secondFactor: boolean;
  /** The signed ID token, which is sent back at sign-out to end the session at the provider. */
  idToken: string;
  claims: Readonly<Record<string, unknown>>;
}

/** Returns the person's role in the workspace. If the claim has several values, the highest role counts. */
export function roleOf({ role, roleClaim, roles }: SignInSettings, { claims }: Pick<ProviderPerson, 'claims'>): Role {
  if (roleClaim === null || !Object.hasOwn(claims, roleClaim)) return role;
  const values = [claims[roleClaim]].flat().filter((value): value is string => typeof value === 'string');
  const given = values.flatMap((value) => (Object.hasOwn(roles, value) ? (roles[value] ?? []) : []));
  return given.reduce<Role | null>((best, next) => (best && hasRole(best, next) ? best : next), null) ?? role;
}

export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1).toLowerCase();
}
