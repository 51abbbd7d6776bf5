// Package binding reads what a run would execute: the hosts that it reaches, for policies, and the parts to which an
// approval is bound. It reads inventories, so it is used outside of units.
package binding
