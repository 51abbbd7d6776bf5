// Command shim is the process inside the boundary as a program of its own, without the server. It starts in half the
// time, since the Go runtime reads all tables of a program when it starts.
package main

import (
	"os"

	"github.com/writ-automation/writ/platform/boundary/internal/child" // takes over before main
)

// main is reached if nobody hands over a plan.
func main() {
	os.Exit(child.Unasked)
}
