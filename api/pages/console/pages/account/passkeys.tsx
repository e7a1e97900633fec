import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/browser';
import { useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Dialog, DialogFoot } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';
import { hasPasskeys, optionsOf } from '../sign-in/passkey.js';
import w from '../workspace/workspace.module.css';

/** Lists the user's passkeys, and adds and deletes them. */
export function Passkeys() {
  const [open, setOpen] = useState(false);
  const query = useGet('/session/passkeys', {}, { poll: false });
  const end = useWrite((passkeyId: string) => remove('/session/passkeys/{passkeyId}', { path: { passkeyId } }), {
    onDone: () => toast('The passkey is deleted'),
  });
  return (
    <section className={u.card}>
      <div className={u.cardHead}>
        <h2>Passkeys</h2>
        {hasPasskeys() ? (
          <Button small onClick={() => setOpen(true)}>
            Add a passkey
          </Button>
        ) : null}
      </div>
      {end.error ? <ErrorNotice error={end.error} /> : null}
      <Loaded query={query} skeleton={<Skeleton rows={1} height={56} />}>
        {({ passkeys }) =>
          passkeys.length === 0 ? (
            <Empty title="No passkeys">
              A passkey of your device or password manager signs you in without a password and a code.
            </Empty>
          ) : (
            <ul>
              {passkeys.map((passkey) => (
                <li key={passkey.id} className={w.member}>
                  <div className={w.who}>
                    <strong>{passkey.name}</strong>
                    <span className={u.dim}>
                      added <Ago at={passkey.createdAt} />,{' '}
                      {passkey.usedAt === null ? 'never used' : <>used {<Ago at={passkey.usedAt} />}</>}
                    </span>
                  </div>
                  <span />
                  <Button small aria-label={`Delete ${passkey.name}`} onClick={() => end.mutate(passkey.id)}>
                    Delete
                  </Button>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {/* The dialog is mounted only while it is open, so that the password does not stay in memory. */}
      {open ? <AddPasskey onClose={() => setOpen(false)} /> : null}
    </section>
  );
}

function AddPasskey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const add = useWrite(() => register(name, password), {
    onDone: () => {
      toast('The passkey is added');
      onClose();
    },
  });
  return (
    <Dialog title="Add a passkey" open onClose={onClose}>
      <WriteForm className={u.stack} write={add} ready={name !== ''}>
        <TextField
          label="Name"
          hint="For example the device that has it"
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <TextField
          label="Your password"
          hint="If you have none, leave it empty and sign in again first"
          type="password"
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        {add.error ? <ErrorNotice error={add.error} /> : null}
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={name === ''} pending={add.isPending}>
            Continue
          </Button>
        </DialogFoot>
      </WriteForm>
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
        ...{ id, rawId, type: 'public-key' },
        response: { clientDataJSON, attestationObject },
      },
    },
  });
}
