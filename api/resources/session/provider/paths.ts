export const START_PATH = '/api/session/oidc';
/** Path of the redirect URI, relative to PUBLIC_URL, that must be registered with the provider. */
export const CALLBACK_PATH = '/api/session/oidc/callback';
