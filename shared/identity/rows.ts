import type { KeyScope, Role } from './policy.js';

export interface UserRow {
  id: string;
  email: string;
  password_hash: string | null;
  email_verified_at: Date | null;
  totp_sealed: Buffer | null;
  totp_confirmed_at: Date | null;
  totp_counter: number | null;
  verification_hash: Buffer | null;
  verification_expires_at: Date | null;
  created_at: Date;
}

export interface SessionRow {
  id: string;
  user_id: string;
  token_hash: Buffer;
  second_factor: boolean;
  /** False if the session was started without a password, for example with a passkey. */
  by_password: boolean;
  /** The only client, usually an IP address, that may use the session; null for a session over TLS. */
  client: string | null;
  /** The client from which the user signed in, usually an IP address. */
  origin: string;
  user_agent: string;
  created_at: Date;
  seen_at: Date;
  expires_at: Date;
}

export interface MembershipRow {
  workspace_id: string;
  user_id: string;
  role: Role;
  /** If true, the OpenID Connect provider determines the role. */
  by_sign_in: boolean;
  created_at: Date;
}

export interface ApiKeyRow {
  id: string;
  workspace_id: string;
  user_id: string;
  name: string;
  scope: KeyScope;
  lookup: string;
  secret_hash: Buffer;
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
  created_at: Date;
}
