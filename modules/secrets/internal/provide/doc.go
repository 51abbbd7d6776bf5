// Package provide opens the credentials of a run: it reads them, asks the engines behind them, and puts together what
// they give.
package provide
