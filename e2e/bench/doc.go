// Package bench measures the budgets of a whole server from outside: real process, real HTTP, real tools. Every
// figure is printed beside a baseline that the same run measures, so that a slow machine slows both. Nothing asserts
// an absolute time; what is asserted is that nothing was lost while the clock ran.
package bench
