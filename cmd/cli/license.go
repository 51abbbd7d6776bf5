package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/system"
)

// license is the licence of an install or of a file.
type license struct {
	Tier     string            `json:"tier"`
	State    string            `json:"state"`
	ID       string            `json:"id"`
	Customer string            `json:"customer"`
	NotAfter *time.Time        `json:"not_after"`
	Features []string          `json:"features"`
	Problem  string            `json:"problem,omitempty"`
	Licensed map[string]string `json:"licensed,omitempty"`
}

func licenseCommand(w environment) *cobra.Command {
	return group("license", "Show and verify licences, and make them as a vendor", licenseShowCommand(w),
		licenseVerifyCommand(w), licenseNewCommand(w), licenseNewKeyCommand(w))
}

func licenseShowCommand(w environment) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Show the licence of the server", Args: args(cobra.NoArgs)}
	return clientCommand(w, c, watching(c, func(ctx context.Context, c *client, _ []string, out printer) error {
		var l license
		if err := c.call(ctx, http.MethodGet, "/v1/license", nil, &l); err != nil {
			return err
		}
		return l.print(out)
	}))
}

// print prints a licence as lines.
func (l license) print(out printer) error {
	if out.json {
		return out.document(l)
	}
	lines := [][2]string{{"tier", l.Tier}, {"state", l.State}}
	if l.ID != "" {
		lines = append(lines, [2]string{"id", l.ID}, [2]string{"customer", l.Customer},
			[2]string{"not after", l.NotAfter.UTC().Format(time.RFC3339)})
	}
	if len(l.Features) > 0 {
		lines = append(lines, [2]string{"features", strings.Join(l.Features, ", ")})
	}
	if l.Problem != "" {
		lines = append(lines, [2]string{"problem", l.Problem})
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(out.out, "%-10s %s\n", line[0], oneLine(line[1], 300)); err != nil {
			return err
		}
	}
	return nil
}

func licenseVerifyCommand(w environment) *cobra.Command {
	var key string
	c := &cobra.Command{
		Use: "verify FILE", Short: "Verify a licence file without a server", Args: args(cobra.ExactArgs(1)),
		Long: "Verify the signature of a licence file by the vendor's key of this build, and that the licence has not\n" +
			"ended.",
	}
	c.Flags().StringVar(&key, "key", "", "public `key` of the vendor in base64 (default that of this build)")
	return printCommand(w, c, func(_ context.Context, a []string, out printer) error {
		vendor, err := compose.VendorKeyOf(w.options)
		if key != "" {
			vendor, err = system.ParseVendorKey(key)
		}
		if err != nil {
			return usageError{err}
		}
		text, err := small(a[0])
		if err != nil {
			return err
		}
		l, err := vendor.Open(text)
		if err != nil {
			return err
		}
		shown := license{Tier: string(l.Tier), State: string(system.LicenseValid), ID: l.ID, Customer: l.Customer,
			NotAfter: &l.NotAfter, Features: append([]string{}, l.Features...)}
		if ended := !clock.New().Now().Before(l.NotAfter); ended {
			shown.State = string(system.LicenseEnded)
			return errors.Join(shown.print(out), errors.New("the licence has ended"))
		}
		return shown.print(out)
	})
}

func licenseNewCommand(w environment) *cobra.Command {
	var l system.License
	var keyFile, tier, notAfter string
	c := &cobra.Command{
		Use: "new", Short: "Sign a licence as a vendor and print the file", Args: args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if keyFile == "" {
				return usagef("expected --key-file, which writ license new-key makes")
			}
			end, err := time.Parse(time.RFC3339, notAfter)
			if err != nil {
				return usagef("--not-after takes a time such as 2027-12-31T23:59:59Z")
			}
			l.Tier, l.NotAfter = system.Tier(tier), end
			text, err := small(keyFile)
			if err != nil {
				return err
			}
			vendor, err := keys.ParsePrivate(text, keys.Statement)
			if err != nil {
				return fmt.Errorf("%s: %w", keyFile, err)
			}
			file, err := system.SignLicense(l, vendor)
			if err != nil {
				return usageError{err}
			}
			_, err = fmt.Fprintf(w.out, "%s\n", file)
			return err
		},
	}
	c.Flags().StringVar(&keyFile, "key-file", "", "`file` of the vendor's private key")
	c.Flags().StringVar(&l.ID, "id", "", "`id` of the licence")
	c.Flags().StringVar(&l.Customer, "customer", "", "`name` of the customer")
	c.Flags().StringVar(&tier, "tier", string(system.Team), "`tier`: pro or team")
	c.Flags().StringVar(&notAfter, "not-after", "", "`time` at which the licence ends")
	c.Flags().StringArrayVar(&l.Features, "feature", nil, "`feature` that the licence adds to the tier (repeatable)")
	return c
}

func licenseNewKeyCommand(w environment) *cobra.Command {
	return &cobra.Command{
		Use: "new-key FILE", Short: "Make the key of a vendor and print its public half", Args: args(cobra.ExactArgs(1)),
		Long: "Make a private key in FILE, which must not exist yet, and print the public key for make build\n" +
			"LICENSE_KEY=... Whoever has the file makes licences.",
		RunE: func(_ *cobra.Command, a []string) error {
			made, err := keys.Generate(keys.Statement)
			if err != nil {
				return err
			}
			text, err := keys.MarshalPrivate(made)
			if err != nil {
				return err
			}
			f, err := os.OpenFile(a[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return err
			}
			_, err = f.Write(text)
			if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprintln(w.out, system.FormatVendorKey(made.Public()))
			return err
		},
	}
}
