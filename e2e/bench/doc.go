// Package bench measures the budgets of a whole server from outside: real process, real HTTP, real tools. Every figure
// is printed beside a baseline of the same run, so that a slow machine slows both. No absolute time is asserted, only
// that nothing was lost during the measurement.
package bench
