package settings

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/system"
)

// The names of the pages.
const (
	tabAccounts      = "People"
	tabTeams         = "Teams"
	tabOrgs          = "Organizations"
	tabAccess        = "Access"
	tabTokens        = "Tokens"
	tabCredentials   = "Credentials"
	tabTypes         = "Types"
	tabNotifications = "Notifications"
	tabDoctor        = "Doctor"
	tabLicence       = "Licence"
	tabWorkers       = "Workers"
	tabProfiles      = "Profiles"
	tabLetters       = "Dead letters"
	tabExtensions    = "Extensions"
)

// The texts of the pages.
const (
	findText      = "Find"
	actionsText   = "Actions"
	noMatch       = "Nothing matches"
	clearSearch   = "Clear the search to see all."
	addMember     = "Add a member"
	addText       = "Add"
	accountLabel  = "Account"
	objectLabel   = "Object"
	subjectLabel  = "Account or team"
	roleLabel     = "Role"
	orgRoleHelp   = "An administrator of the organization manages its objects, as far as the account's own role goes."
	editText      = "Edit"
	deleteText    = "Delete"
	cancelText    = "Cancel"
	retryText     = "Retry"
	showText      = "Show"
	clearText     = "Clear"
	openText      = "Open"
	explainText   = "Explain"
	factsTitle    = "Facts"
	filterText    = "Filter of the grants"
	filterSubject = "Granted to"
	filterObject  = "Granted on"
	matrixTitle   = "Who has which level on what"
	noLevel       = "no grant"
	whyTitle      = "Why can an account reach an object?"
	findingsTitle = "Findings"
	installTitle  = "Install a licence"
	installText   = "A licence is a file. Start the server with its path: it is read again when it changes, and " +
		"needs no network."
	guideText    = "The guide about licences"
	deleteLetter = "Delete the dead letter"
	neverShown   = "A stored secret is never shown. Type a new one under Edit to replace it."
	letterGone   = "there is no such dead letter; its subscriber may have handled the event meanwhile"

	deleteLetterAsk = "Its subscriber never gets the event."

	teamsWhy = "A team is a group of accounts that grants can name."
	orgsWhy  = "An organization owns templates, inventories, projects and credentials, and its administrators " +
		"manage them."
	membersWhy = "Add an account below."
	grantsWhy  = "Without a grant an object follows the roles: viewers read it, operators use it."
	lettersWhy = "Every event reached its subscribers."
	workersWhy = "With a token of its own a worker takes runs over HTTP, and needs no database."
	typesWhy   = "A type describes the fields of a kind of credential of your own, and what a run gets of them."
	cappedText = "A viewer gets no more than use."
	adminWay   = "The account is an administrator, who reaches everything."
	grantWay   = "A grant names the account."

	credentialsWhy = "A credential gives runs access to hosts, repositories and clouds. Make one, and name it in a " +
		"template."
	notificationsWhy = "A template names where the ends of its runs are reported. Add one under Edit of a template."
)

func accountsText(total, admins int) string {
	return shell.Plural(total, "account") + ", of which " + isAre(admins, "administrator") + "."
}

func isAre(n int, noun string) string {
	if n == 1 {
		return "1 is " + an(noun)
	}
	return shell.Count(n) + " are " + noun + "s"
}

func an(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

func tokensText(api, sessions int) string {
	return shell.Plural(api, "API token") + " and " + shell.Plural(sessions, "session") + "."
}

func teamsText(n int) string { return shell.Plural(n, "team") + "." }

func orgsText(n int) string { return shell.Plural(n, "organization") + "." }

func teamText(members, grants int) string {
	return "A team of " + shell.Plural(members, "account") + " with " + shell.Plural(grants, "grant") + "."
}

func orgText(members, admins int) string {
	return "An organization of " + shell.Plural(members, "account") + ", of which " + isAre(admins, "administrator") + "."
}

func grantsText(n int, filtered bool) string {
	if filtered {
		return shell.Plural(n, "grant") + " with this filter."
	}
	return shell.Plural(n, "grant") + "."
}

func credentialsText(n, missing int) string {
	if missing == 0 {
		return shell.Plural(n, "credential") + " that you may read."
	}
	return shell.Plural(n, "credential") + " that you may read. Of those below, " + shell.Count(missing) + " cannot " +
		"serve a " +
		"run: the secret is missing."
}

func typesText(n int) string { return shell.Plural(n, "type") + " of your own." }

func typesOfText(n int) string {
	return shell.Plural(n, "credential") + " of this type that you may read."
}

func usedText(n int) string {
	if n == 0 {
		return "Nothing that you may read uses this credential."
	}
	if n == 1 {
		return "1 record that you may read uses this credential."
	}
	return shell.Count(n) + " records that you may read use this credential."
}

func notificationsText(n int) string {
	return "Templates send " + shell.Plural(n, "notification") + "."
}

func lettersText(n int) string {
	if n == 0 {
		return "No event waits for a subscriber that failed."
	}
	return shell.Plural(n, "event") + " failed at every attempt of a subscriber."
}

func letterText(l system.DeadLetter) string {
	return l.Subscriber + " failed " + shell.Plural(l.Attempts, "time") + " to handle this event."
}

func workersText(n int) string {
	return shell.Plural(n, "token") + " of workers. Queues and what runs on them are under Fleet."
}

func profilesText(n int) string {
	verb := " give"
	if n == 1 {
		verb = " gives"
	}
	return "What " + shell.Plural(n, "executor") + verb + " to runs. Profiles are in the configuration of each " +
		"executor, and " +
		"are not changed here."
}

func doctorText(errors, warnings, checks int) string {
	switch {
	case errors > 0:
		return shell.Plural(errors, "error") + " and " + shell.Plural(warnings, "warning") + " in " +
			shell.Plural(checks, "check") + "."
	case warnings > 0:
		return "No errors, and " + shell.Plural(warnings, "warning") + " in " + shell.Plural(checks, "check") + "."
	}
	return "All is well: " + shell.Plural(checks, "check") + " found nothing to mend."
}

func licenceText(r *shell.Request, s system.LicenseStatus) string {
	switch s.State {
	case system.LicenseValid:
		return "This install is of the tier " + tierWord(s.Tier) + ", licensed to " + s.License.Customer + " until " +
			shell.When(r.Context(), s.License.NotAfter) + "."
	case system.LicenseEnded:
		return "The licence has ended. What exists continues to work, and the tier is " + tierWord(s.Tier) + "."
	}
	return "This install has no licence: its tier is " + tierWord(s.Tier) + "."
}

func licenceState(s system.LicenseState) shell.State {
	switch s {
	case system.LicenseValid:
		return shell.State{Glyph: "done", Word: "Valid"}
	case system.LicenseEnded:
		return shell.State{Glyph: "fail", Word: "Ended"}
	}
	return shell.State{Glyph: "skip", Word: "None"}
}

func tierWord(t system.Tier) string { return shell.Words(string(t)) }

func severityGlyph(s system.Severity) string {
	switch s {
	case system.Error:
		return "fail"
	case system.Warning:
		return "chg"
	}
	return "wait"
}

func severityWord(s system.Severity) string {
	switch s {
	case system.Error:
		return "Error"
	case system.Warning:
		return "Warning"
	}
	return "Note"
}

func subjectText(s system.Subject) string {
	switch {
	case s.Name != "":
		return shell.Words(s.Kind) + " " + s.Name
	case s.Kind != "":
		return shell.Words(s.Kind) + " " + s.ID
	}
	return "This install"
}

// sentence gives a clause a capital letter and a full stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + strings.TrimSuffix(s[n:], ".") + "."
}

func fixText(fix string) string {
	if fix == "" {
		return ""
	}
	return "To mend it, " + strings.TrimSuffix(fix, ".") + "."
}

func roleCell(role identity.Role) cell { return text(shell.Words(string(role))) }

func orgRole(role identity.OrgRole) string {
	if role == identity.OrgAdmin {
		return "Administrator"
	}
	return "Member"
}

func signInText(a identity.Account) string {
	switch {
	case a.HasPassword && len(a.Identities) > 0:
		return "Password or provider"
	case a.HasPassword:
		return "Password"
	case len(a.Identities) > 0:
		return "Provider"
	}
	return "Tokens only"
}

func tokenName(t identity.Token) string {
	if t.Kind == identity.SessionToken {
		return "Session"
	}
	return t.Name
}

func limitsText(t identity.Token) string {
	var parts []string
	for _, s := range t.Scopes {
		parts = append(parts, string(s))
	}
	for _, n := range t.Networks {
		parts = append(parts, n.String())
	}
	if len(parts) == 0 {
		return ""
	}
	return "Only " + strings.Join(parts, ", ")
}

func sourceText(c secrets.Credential) string {
	if c.Source == nil {
		return "This server"
	}
	return c.Source.Engine
}

func fieldsText(list []secrets.Field) string {
	parts := make([]string, 0, len(list))
	for _, f := range list {
		parts = append(parts, f.Name)
	}
	return strings.Join(parts, ", ")
}

func fieldText(f secrets.Field) string {
	out := shell.Words(string(f.Type))
	if f.Secret {
		out += ", secret"
	}
	if f.Required {
		out += ", required"
	}
	return out
}

func kindWord(object string) string { return shell.Words(identity.KindOf(object)) }

func subjectWord(subject string) string {
	if strings.HasPrefix(subject, "team:") {
		return "Team"
	}
	return "Account"
}

func verdictText(x *reasons) string {
	if x.Level == access.None {
		return x.Name + " cannot reach " + x.Object + ": its grants name others."
	}
	return x.Name + " may " + string(x.Level) + " " + x.Object + "."
}

func openWay(role string) string {
	return "The object has no grant, so it follows the role, which is " + role +
		". If its last grant ended with an account, only administrators reach it."
}

func orgWay(org string) string {
	return "The account is an administrator of " + org + ", which owns the object."
}

func teamWay(team string) string {
	return "A grant names the team " + team + ", of which the account is a member."
}

func leftText(n int) string {
	return shell.Plural(n, "more account, team or object", "more accounts, teams and objects") + ": filter to see them."
}

func rangeText(p pages) string {
	return shell.Count(p.From+1) + " to " + shell.Count(p.From+p.Shown) + " of " + shell.Count(p.Total)
}

// cutText says that a list is not complete, or nothing.
func cutText(shown, read, total int) string {
	if read >= total {
		return ""
	}
	return "Only " + shell.Count(read) + " of " + shell.Count(total) + " were read, and " + shell.Count(shown) + " " +
		"are shown."
}

// shortError bounds an error in a list.
const shortError = 160

func short(s string) string {
	if len(s) <= shortError {
		return s
	}
	return strings.ToValidUTF8(s[:shortError], "") + "…"
}
