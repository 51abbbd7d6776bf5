// Package agent serves private keys to ssh over sockets of their own, one for each run. The keys are in the memory of
// this process and nowhere else, and a client can list them and have something signed, and no more: it can neither
// add a key, nor remove one, nor lock the agent for others.
package agent
