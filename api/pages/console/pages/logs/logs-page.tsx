import { useDeferredValue, useState } from 'react';
import type { LogLine } from '../../api/types.js';
import { SelectField, TextField } from '../../ui/field.js';
import { useService } from '../services/service-shell.js';
import { LogView } from './log-view.js';
import l from './logs.module.css';

const SOURCES: readonly { value: LogLine['source'] | ''; text: string }[] = [
  { value: '', text: 'All sources' },
  { value: 'runtime', text: 'Application' },
  { value: 'build', text: 'Builds' },
  { value: 'system', text: 'Platform' },
];

export function LogsPage() {
  const { status } = useService();
  const [typed, setTyped] = useState('');
  const search = useDeferredValue(typed.trim());
  const [source, setSource] = useState<LogLine['source'] | ''>('');
  const filter = { search, source: source || undefined };
  return (
    <>
      <div className={l.filters}>
        <TextField label="Search" type="search" maxLength={200} value={typed} onChange={setTyped} />
        <SelectField label="Source" options={SOURCES} value={source} onChange={setSource} />
      </div>
      <LogView filter={filter} working={status === 'deploying'} title="Log" tall />
    </>
  );
}
