package ai

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of advice. Sizes are bytes.
const (
	// MaxText is the limit of a description, a question and a request.
	MaxText = 8 << 10
	// MaxPrompt is the limit of everything that a model gets, MaxLog that of the output in it, and MaxAnswer that of what
	// it says.
	MaxPrompt = 64 << 10
	MaxLog    = 24 << 10
	MaxAnswer = 64 << 10
	// MaxTokens is the limit of an answer in the unit of the model.
	MaxTokens = 4096
	// AskLimit is how many questions an account may ask a server within AskWindow.
	AskLimit  = 10
	AskWindow = time.Minute
	// MaxCalls is how many calls of the provider a server makes at a time, and MaxAccountCalls how many of them for one
	// account. CallTimeout bounds each one.
	MaxCalls        = 8
	MaxAccountCalls = 2
	CallTimeout     = 2 * time.Minute
)

// ProposalLabel marks each run that a model proposed.
const (
	ProposalLabel = "proposed-by"
	ProposalValue = "ai"
)

// DraftTools returns the tools for which scripts are drafted.
func DraftTools() []string { return []string{"bash", "python", "powershell", "go"} }

// Answer is the answer of a model: text, whatever it looks like. It has no control characters but line ends and tabs.
type Answer struct {
	Text            string
	Model, Provider string
	Tokens          int  // of the request and the answer, 0 if that is unknown
	Cut             bool // the answer reached a limit, so that its end is missing
}

// Write gets an answer piece by piece while it arrives. An error ends the call.
type Write func(text string) error

// Advisor asks a model on behalf of the caller of ctx. The model gets only what the caller may read. A Write that is
// nil gets nothing. The texts that Draft removes around a script are in its pieces.
//
// Errors of every method: Disabled; Busy; Failed; Invalid, naming a text that is empty or too long.
type Advisor interface {
	// Enabled reports whether the server has a provider, so that the other methods are not Disabled.
	Enabled() bool
	// Explain tells why a run is in its state and what to look at. Errors: RunNotFound.
	Explain(ctx context.Context, runID string, write Write) (Answer, error)
	// Draft writes a script of one of DraftTools.
	Draft(ctx context.Context, tool, description string, write Write) (Answer, error)
	// Ask answers a question about runs, the health of hosts and drift. Errors: TooMany.
	Ask(ctx context.Context, question string, write Write) (Answer, error)
	// Propose turns a request into a run with the label ProposalLabel. The run is held, whatever the policies say.
	// Errors: BadProposal, which names the member; VarsReserved of package runs, which names the variable; those of
	// runs.Submitter about objects, credentials and policies.
	Propose(ctx context.Context, request string) (*runs.Run, error)
}
