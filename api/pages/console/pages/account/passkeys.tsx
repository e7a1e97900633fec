import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/browser';
import { useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card, Items, Row } from '../../ui/card.js';
import { Dialog, DialogForm } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { useFields } from '../../ui/form.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { Ago, Last } from '../../ui/time.js';
import { toast } from '../../ui/toast.js';
import { hasPasskeys, optionsOf } from '../sign-in/passkey.js';

export function Passkeys() {
  const [open, setOpen] = useState(false);
  const query = useGet('/session/passkeys', {}, { poll: false });
  const end = useWrite(
    (passkeyId: string) => remove('/session/passkeys/{passkeyId}', { path: { passkeyId } }),
    () => toast('The passkey is deleted'),
  );
  return (
    <Card
      title="Passkeys"
      actions={
        hasPasskeys() ? (
          <Button small onClick={() => setOpen(true)}>
            Add a passkey
          </Button>
        ) : null
      }
    >
      {end.error ? <ErrorNotice error={end.error} /> : null}
      <Loaded query={query} skeleton={<Skeleton rows={1} height={56} />}>
        {({ passkeys }) => (
          <Items
            items={passkeys}
            empty={
              <Empty title="No passkeys">
                A passkey of your device or password manager signs you in without a password and a code.
              </Empty>
            }
          >
            {({ id, name, createdAt, usedAt }) => (
              <Row
                title={name}
                detail={
                  <>
                    added <Ago at={createdAt} />, <Last at={usedAt} words="used" never="never used" />
                  </>
                }
              >
                <Button small aria-label={`Delete ${name}`} onClick={() => end.mutate(id)}>
                  Delete
                </Button>
              </Row>
            )}
          </Items>
        )}
      </Loaded>
      {/* The dialog is mounted only while it is open, so that the password does not stay in memory. */}
      {open ? <AddPasskey onClose={() => setOpen(false)} /> : null}
    </Card>
  );
}

function AddPasskey({ onClose }: { onClose: () => void }) {
  const { values, field } = useFields({ name: '', password: '' });
  const add = useWrite(
    () => register(values.name, values.password),
    () => {
      toast('The passkey is added');
      onClose();
    },
  );
  return (
    <Dialog title="Add a passkey" open onClose={onClose}>
      <DialogForm write={add} ready={values.name !== ''} action="Continue" onClose={onClose}>
        <TextField label="Name" hint="For example the device that has it" required {...field('name')} />
        <TextField
          label="Your password"
          hint="If you have none, leave it empty and sign in again first"
          type="password"
          autoComplete="current-password"
          {...field('password')}
        />
      </DialogForm>
    </Dialog>
  );
}

async function register(name: string, password: string) {
  const answer = await post('/session/passkeys/options', { body: password === '' ? {} : { password } });
  const optionsJSON = optionsOf<PublicKeyCredentialCreationOptionsJSON>(answer);
  const { startRegistration } = await import('@simplewebauthn/browser');
  const credential = await startRegistration({ optionsJSON });
  const { id, rawId, response } = credential;
  const { clientDataJSON, attestationObject } = response;
  return post('/session/passkeys', {
    body: {
      name,
      credential: {
        id,
        rawId,
        type: 'public-key',
        response: { clientDataJSON, attestationObject },
      },
    },
  });
}
