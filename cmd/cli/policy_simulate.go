package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func policySimulateCommand(w environment) *cobra.Command {
	var from, to string
	c := &cobra.Command{
		Use: "simulate FILE", Short: "Tell which runs of the past the policies of a file would hold or deny",
		Args: args(cobra.ExactArgs(1)),
		Long: "Tell which runs of the past each policy of a policy file would hold or deny, by actor and template.\n" +
			"Nothing is stored. - is the standard input.",
	}
	c.Flags().StringVar(&from, "from", "", "a date or an RFC 3339 time; 30 days before --to if absent")
	c.Flags().StringVar(&to, "to", "", "a date or an RFC 3339 time; now if absent")
	return clientCommand(w, c, func(ctx context.Context, c *client, a []string, out printer) error {
		body := map[string]any{}
		for name, text := range map[string]string{"from": from, "to": to} {
			if text == "" {
				continue
			}
			t, err := dateOrTime(text)
			if err != nil {
				return usagef("--%s: expected a date such as 2026-05-01, or an RFC 3339 time", name)
			}
			body[name] = t.Format(time.RFC3339)
		}
		list, err := policyRules().read(w, a[0])
		if err != nil {
			return err
		}
		done := make([]map[string]any, 0, len(list))
		for _, p := range list {
			body["policy"] = p
			name := stringField(p, "name")
			got, _, err := c.exchange(ctx, http.MethodPost, policyRules().path("simulate"), "", body)
			if err != nil {
				return fmt.Errorf("%s: %w", plainText(name), err)
			}
			got["name"] = name
			done = append(done, got)
			if !out.json {
				printSimulation(w, got)
			}
		}
		if out.json {
			return out.document(map[string]any{"simulations": done})
		}
		return nil
	})
}

// dateOrTime reads a date as its beginning in the local zone.
func dateOrTime(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	return time.ParseInLocation(time.DateOnly, text, time.Local)
}

func printSimulation(w environment, s map[string]any) {
	_, _ = fmt.Fprintf(w.out, "%s: of %v runs it would have held %v and denied %v\n", plainText(stringField(s, "name")),
		s["scanned"], s["held"], s["denied"])
	if s["truncated"] == true {
		_, _ = fmt.Fprintln(w.err, "writ: there are more runs; only the newest were compared")
	}
	for _, part := range []struct{ title, member string }{{"actor", "by_actor"}, {"template", "by_template"}} {
		counts, _ := s[part.member].(map[string]any)
		most := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
			return cmp.Or(cmp.Compare(numberOf(counts[b]), numberOf(counts[a])), strings.Compare(a, b))
		})
		for _, id := range most {
			_, _ = fmt.Fprintf(w.out, "  %s %s: %v\n", part.title, plainText(id), counts[id])
		}
	}
	if sample, _ := s["sample"].([]any); len(sample) > 0 {
		_, _ = fmt.Fprintf(w.out, "  such as %s\n", plainText(strings.Trim(fmt.Sprint(sample), "[]")))
	}
}

// numberOf returns a number of an answer.
func numberOf(v any) int {
	n, _ := v.(json.Number)
	i, _ := strconv.Atoi(n.String())
	return i
}
