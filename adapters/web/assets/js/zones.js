// The field of the time zone offers the zones that the browser knows.
import { $, make } from './dom.js';

export const mount = form => {
  const field = $('input[name=zone]', form);
  const zones = Intl.supportedValuesOf?.('timeZone');
  if (!field || !zones) return;
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  form.append(make('datalist', { id: 'zones' }, ...['UTC', own, ...zones.filter(z => z !== own && z !== 'UTC')]
    .map(z => make('option', { value: z }))));
  field.setAttribute('list', 'zones');
};
