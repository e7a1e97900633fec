import { useMemo, useState } from 'react';
import type { Variable } from '../../api/types.js';
import { Button } from '../../ui/button.js';
import { Dialog, DialogFoot } from '../../ui/dialog.js';
import { parseEnv } from '../../ui/env-text.js';
import { AreaField } from '../../ui/field.js';
import u from '../../ui/ui.module.css';
import type { Edits } from './edits.js';
import v from './variables.module.css';

export function PasteDialog({
  variables,
  onClose,
  onTake,
}: {
  variables: readonly Variable[];
  onClose: () => void;
  onTake: (edits: Edits) => void;
}) {
  const [text, setText] = useState('');
  const { entries, problems } = useMemo(() => parseEnv(text), [text]);
  const stored = new Set(variables.map(({ key }) => key));
  const pasted = new Set(entries.map(({ key }) => key));
  const added = entries.filter(({ key }) => !stored.has(key)).map(({ key }) => key);
  const replaced = entries.filter(({ key }) => stored.has(key)).map(({ key }) => key);
  const kept = variables.map(({ key }) => key).filter((key) => !pasted.has(key));
  const take = () => {
    onTake(Object.fromEntries(entries.map(({ key, value }) => [key, { value }])));
    onClose();
  };
  return (
    <Dialog title="Add from .env" open onClose={onClose} wide>
      <AreaField
        label="Contents of the .env file"
        rows={8}
        error={problems.join('. ')}
        value={text}
        onChange={setText}
      />
      <div className={v.diff} role="status">
        <List word="New" keys={added} />
        <List word="Replaced (stored values are never shown, so they cannot be compared)" keys={replaced} />
        <List word="Not in the text, unchanged" keys={kept} />
      </div>
      <DialogFoot>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" disabled={entries.length === 0 || problems.length > 0} onClick={take}>
          Add {entries.length === 0 ? '' : entries.length}
        </Button>
      </DialogFoot>
    </Dialog>
  );
}

function List({ word, keys }: { word: string; keys: readonly string[] }) {
  if (keys.length === 0) return null;
  return (
    <p>
      {word}: <code>{keys.join(', ')}</code> <span className={u.dim}>({keys.length})</span>
    </p>
  );
}
