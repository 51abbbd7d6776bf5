package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/platform/clock"
)

// Bounds of what the doctor of the command line finds fault with.
const (
	maxClockDifference = time.Minute
	certificateEnds    = 14 * 24 * time.Hour
)

// finding is a finding of the server's doctor, or of the command line's own checks.
type finding struct {
	Severity string `json:"severity"`
	Check    string `json:"check"`
	Object   struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"object"`
	Problem string `json:"problem"`
	Fix     string `json:"fix"`
	Link    string `json:"link"`
}

// report is the report of the doctor. Checked has the number of objects of each check.
type report struct {
	OK       bool           `json:"ok"`
	Findings []finding      `json:"findings"`
	Checked  map[string]int `json:"checked"`
}

func doctorCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "doctor", Short: "Check the server and the way to it, and say what to do", Args: args(cobra.NoArgs),
		Long: `Check the way to the server (its answer, its version, TLS, the clocks), and then print the findings of the
server's own checks, each with the next step.

Exit codes: 0 no finding is an error, 1 a finding is one or the server does not answer, 2 usage.`,
	}, func(ctx context.Context, c *client, _ []string, out printer) error {
		own, err := c.checkWay(ctx)
		if err != nil {
			return err
		}
		var r report
		if err := c.call(ctx, http.MethodGet, "/v1/doctor", nil, &r); err != nil {
			return err
		}
		r.Findings = append(own, r.Findings...)
		for _, f := range own {
			r.OK = r.OK && f.Severity != "error"
		}
		if out.json {
			err = out.document(r)
		} else {
			r.print(newScreen(w), c.base)
		}
		if err == nil && !r.OK {
			err = errSilent
		}
		return err
	})
}

// checkWay checks what only the client sees. Errors: the server does not answer.
func (c *client) checkWay(ctx context.Context) ([]finding, error) {
	ctx, cancel := c.within(ctx, http.MethodGet)
	defer cancel()
	sent := clock.New().Now()
	resp, err := c.request(ctx, http.MethodGet, "/healthz", nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	list := []finding{}
	add := func(severity, check, problem, fix string) {
		f := finding{Severity: severity, Check: check, Problem: problem, Fix: fix}
		f.Object.Kind, f.Object.Name = "server", c.base
		list = append(list, f)
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		if off := at.Sub(sent); off.Abs() > maxClockDifference {
			add("warning", "client_clock", fmt.Sprintf("The clock of this machine differs from that of the server by %s.",
				off.Abs().Round(time.Second)), "Set both clocks by NTP.")
		}
	}
	u, _ := url.Parse(c.base)
	switch {
	case resp.TLS == nil && !isLoopback(u.Hostname()):
		add("warning", "client_tls", "The connection to the server is not encrypted.",
			"Give the server --tls-cert and --tls-key, or put a proxy with TLS before it, and sign in at the https address.")
	case resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0:
		if end := resp.TLS.PeerCertificates[0].NotAfter; end.Sub(sent) < certificateEnds {
			add("warning", "client_tls", "The certificate of the server expires at "+instant(end)+".", "Renew the certificate.")
		}
	}
	var doc struct {
		Info struct {
			Version string `json:"version"`
		} `json:"info"`
	}
	own := readBuild().Version
	if c.call(ctx, http.MethodGet, "/openapi.json", nil, &doc) == nil && doc.Info.Version != own {
		add("info", "client_version", fmt.Sprintf("The server is version %s and this program is version %s.",
			oneLine(doc.Info.Version, 60), own), "Use the same version where a command is unknown or refused.")
	}
	return list, nil
}

func (r report) print(s screen, base string) {
	if len(r.Findings) == 0 {
		_, _ = fmt.Fprintf(s.w, "%s is well\n", base)
		return
	}
	colours := map[string]string{"error": "failed", "warning": "changed"}
	for _, f := range r.Findings {
		_, _ = fmt.Fprintf(s.w, "%s  %s %s: %s\n", s.paint(colours[f.Severity], oneLine(f.Severity, 10)),
			oneLine(f.Check, 60), oneLine(f.Object.Name, 100), oneLine(f.Problem, 500))
		if f.Fix != "" {
			_, _ = fmt.Fprintf(s.w, "  next  %s\n", oneLine(f.Fix, 500))
		}
		if f.Link != "" {
			_, _ = fmt.Fprintf(s.w, "  see   %s\n", oneLine(f.Link, 200))
		}
	}
}
