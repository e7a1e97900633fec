/** Why a sign-in with the provider failed. The sign-in page has a text for each code. */
export type SignInFailureCode =
  | 'provider_unavailable'
  | 'provider_refused'
  | 'denied'
  | 'expired'
  | 'answer_invalid'
  | 'email_unverified'
  | 'email_taken'
  | 'not_admitted'
  | 'rate_limited';

/** A failed sign-in with the provider. The message is for the log, the code for the user. */
export class SignInFailure extends Error {
  readonly code: SignInFailureCode;

  constructor(code: SignInFailureCode, message: string) {
    super(message);
    this.name = 'SignInFailure';
    this.code = code;
  }
}
