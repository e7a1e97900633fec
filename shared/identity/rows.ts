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
  /** The client to which a session without TLS is bound. */
  client: string | null;
  created_at: Date;
  seen_at: Date;
  expires_at: Date;
}

export interface MembershipRow {
  workspace_id: string;
  user_id: string;
  role: Role;
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
