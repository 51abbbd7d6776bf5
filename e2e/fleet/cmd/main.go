// Command cmd starts a fleet of SSH hosts on this machine, prints the path of its inventory and keeps it running
// until it is interrupted:
//
//	go run ./e2e/fleet/cmd -n 5
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/writ-automation/writ/e2e/fleet"
)

func main() {
	n := flag.Int("n", 3, "how many hosts")
	dir := flag.String("dir", "", "where the fleet lives (default: a new temporary directory, removed at the end)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *n, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, n int, dir string) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "writ-fleet-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := fleet.Start(ctx, dir, n)
	if err != nil {
		return err
	}
	fmt.Println(f.InventoryPath())
	fmt.Fprintf(os.Stderr, "%d hosts run; interrupt to end them\n", n)
	<-ctx.Done()
	return f.Close()
}
