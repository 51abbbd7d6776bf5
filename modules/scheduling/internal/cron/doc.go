// Package cron parses cron expressions and computes when they fire in a time zone. It reads no clock and keeps no
// state.
//
// # Expressions
//
// An expression has five fields separated by spaces: minute (0-59), hour (0-23), day of month (1-31), month (1-12 or
// jan-dec) and day of week (0-7 or sun-sat; 0 and 7 are Sunday). A field is a comma-separated list of * (every value),
// values, and ranges a-b. A step /n after * or a range selects every n-th value of it; after a single value it selects
// every n-th value from there to the end of the field. The name sun at the end of a range is 7, so fri-sun is a
// weekend. The words @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly replace a whole expression.
// Names and words are case-insensitive.
//
// A day field is restricted unless it begins with *, as in Unix cron. If both day fields are restricted, a day has to
// match either of them; otherwise it has to match both. So "0 0 1 * mon" fires on the first and on every Monday, and
// "0 0 */2 * mon" on the Mondays with an odd date.
//
// # Clock changes
//
// An expression selects minutes of a wall clock, each with a date and a time of day: its slots. A slot fires at the
// first instant at which the clock of the zone shows or has passed that minute. This rule has three consequences:
//
//   - A minute that the clocks skip fires at the instant right after the gap. All minutes that one gap skips, and the
//     minute at its end, fall on that same instant and fire once.
//   - A minute that occurs twice fires the first time and not the second. This is so for every expression: one that
//     fires every five minutes is silent while the clocks repeat an hour.
//   - A date that a zone leaves out, as Samoa did in 2011, is a gap of a day.
//
// Firing instants are whole seconds, and they are ascending both as instants and as readings of the clock. Therefore
// the reading identifies the slot (see [Expr.Slot]).
package cron
