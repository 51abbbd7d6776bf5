// Writ-verify checks a bundle or a receipt of the audit trail without an install, a database or a network.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/proof"
)

// maxTrustFile bounds a file with trusted keys.
const maxTrustFile = 1 << 20

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, in io.Reader, out, problems io.Writer) int {
	var t proof.Trust
	set := flag.NewFlagSet("writ-verify", flag.ContinueOnError)
	set.SetOutput(problems)
	set.Usage = func() {
		_, _ = fmt.Fprintln(problems, "writ-verify [flags] FILE, or - for standard input\n"+
			"Exit codes: 0 verified with a trusted key, 1 not verified, 2 usage error or unreadable input, 3 intact, but "+
			"without a trusted key.")
		set.PrintDefaults()
	}
	read := func(to *[]byte) func(string) error {
		return func(name string) error {
			f, err := os.Open(name) //nolint:gosec // the caller names it
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			if *to, err = io.ReadAll(io.LimitReader(f, maxTrustFile+1)); err == nil && len(*to) > maxTrustFile {
				err = fmt.Errorf("has more than %d bytes", maxTrustFile)
			}
			return err
		}
	}
	set.Func("key", "verifier `VKEY` that must have signed; may be repeated", add(&t.VKeys))
	set.Func("seal", "seal.json as a `file`: its keys must have signed", read(&t.Seal))
	set.Func("pin",
		"`file` of known keys and heads, as writ audit verify --pin writes it; it is only read",
		read(&t.Known))
	set.Func("tsa-roots", "PEM `file` of certificates of the trusted time-stamping authorities", read(&t.TSARoots))
	set.Func("witness-key", "verifier `VKEY` of a witness; may be repeated", add(&t.Witnesses))
	set.Func("from", "head `SIZE:ROOT` that the chain must continue, with the root in base64",
		func(text string) error {
			h, err := proof.ParseHead(text)
			t.From = &h
			return err
		})
	err := set.Parse(args)
	if err == nil && set.NArg() != 1 {
		set.Usage()
		err = errors.New("name one file")
	}
	if err != nil {
		return proof.ExitUsage
	}
	if name := set.Arg(0); name != "-" {
		f, err := os.Open(name) //nolint:gosec // the caller names it
		if err != nil {
			_, _ = fmt.Fprintln(problems, "writ-verify:", err)
			return proof.ExitUsage
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	v, err := proof.VerifyFile(context.Background(), in, t, clock.New().Now())
	if err != nil {
		_, _ = fmt.Fprintln(problems, "writ-verify:", err)
		return proof.ExitUsage
	}
	if _, err := io.WriteString(out, v.Text()); err != nil {
		return proof.ExitUsage
	}
	return v.ExitCode()
}

func add(to *[]string) func(string) error {
	return func(text string) error { *to = append(*to, text); return nil }
}
