// Package agent serves private keys to ssh, over one socket for each run. The keys exist only in the memory of this
// process. A client can list them and sign with them; it cannot add or remove a key, and cannot lock the agent.
package agent
