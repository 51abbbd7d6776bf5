package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/compose"
)

// maxAgentAnswer bounds an answer of the server to a request for an agent, in bytes.
const maxAgentAnswer = 16 << 20

func mcpCommand(w environment) *cobra.Command {
	var conn connection
	c := &cobra.Command{
		Use: "mcp", Short: "Let an agent use the server, over standard input and output", Args: args(cobra.NoArgs),
		Long: `Let an agent use the server: the Model Context Protocol over standard input and output, for programs that start
their tools themselves. The agent acts as the account of the context and may do what the token's scopes allow; with a
token without scopes, and with a session of 'writ login', it only reads.

Give an agent a token of its own, as WRIT_TOKEN. The guide of agents has examples.`,
		Example: `  writ token new --name agent --scope read
  WRIT_SERVER=https://writ.example.com WRIT_TOKEN=... writ mcp`,
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := conn.client(c.Context(), w)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(c.Context())
			defer stop()
			log := slog.New(slog.NewTextHandler(w.err, nil))
			return compose.ServeAgent(ctx, readBuild().Version, cl.forAgent, w.in, w.out, log)
		},
	}
	conn.register(w, c)
	return c
}

// forAgent sends a request of an agent.
func (c *client) forAgent(ctx context.Context, call compose.AgentCall) (compose.AgentAnswer, error) {
	own := *c
	own.header = call.Header
	resp, err := own.send(ctx, call.Method, call.Path, call.Body)
	if err != nil {
		return compose.AgentAnswer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAgentAnswer+1))
	if err == nil && len(raw) > maxAgentAnswer {
		err = errors.New("the answer is too large")
	}
	return compose.AgentAnswer{Status: resp.StatusCode, Header: resp.Header, Body: raw}, err
}
