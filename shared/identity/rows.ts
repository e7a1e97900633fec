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
  /**
   * True after a sign-in with a password; false after one with the OpenID Connect provider, a link or only a passkey.
   */
  by_password: boolean;
  /**
   * A session without TLS is valid only for the client that started it. This identifies that client, usually by its IP
   * address; null for a session over TLS.
   */
  client: string | null;
  /**
   * Identifies the client from which the user signed in, usually by its IP address. `user_agent` is its User-Agent
   * header.
   */
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
  /**
   * True if a sign-in with the OpenID Connect provider created the membership. What the provider reports about the user
   * then determines the role.
   */
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
