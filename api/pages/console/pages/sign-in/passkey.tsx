import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/browser';
import { ApiError, post } from '../../api/api-client.js';
import type { FirstProof, PasskeyProof } from '../../api/session.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { ErrorNotice, Notice } from '../../ui/states.js';

/** Browsers offer passkeys only over https and on localhost. */
export const hasPasskeys = () => typeof PublicKeyCredential !== 'undefined';

/** Returns the WebAuthn options in a response, as the type that the WebAuthn library expects. */
export function optionsOf<T>({ options }: { options: object }): T {
  return JSON.parse(JSON.stringify(options));
}

/** Without `first`, the passkey alone signs the user in. With `first`, the passkey is the second factor. */
export function PasskeyButton({
  first,
  onProof,
}: {
  first?: FirstProof | undefined;
  onProof: (passkey: PasskeyProof) => Promise<void>;
}) {
  const prove = useWrite(async () => {
    const answer = await post('/session/passkey/options', { body: { ...first } });
    const { startAuthentication } = await import('@simplewebauthn/browser');
    const optionsJSON = optionsOf<PublicKeyCredentialRequestOptionsJSON>(answer);
    const { id, rawId, response } = await startAuthentication({ optionsJSON });
    const { clientDataJSON, authenticatorData, signature } = response;
    await onProof({ id, rawId, type: 'public-key', response: { clientDataJSON, authenticatorData, signature } });
  });
  if (!hasPasskeys()) return first ? <Notice tone="warn">This browser offers passkeys over https only.</Notice> : null;
  return (
    <>
      <Button pending={prove.isPending} onClick={() => prove.mutate()}>
        {first ? 'Use a passkey' : 'Sign in with a passkey'}
      </Button>
      {/* Any other error comes from the browser's own dialog, which has already shown it to the user. */}
      {prove.error instanceof ApiError ? <ErrorNotice error={prove.error} /> : null}
    </>
  );
}
