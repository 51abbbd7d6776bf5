package trust

import (
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/audit"
)

const (
	trustText      = "Trust"
	trailText      = "Trail"
	verifyText     = "Verify"
	sinceText      = "since"
	nowText        = "Verify now"
	checkedText    = "What was checked"
	uncheckedText  = "What was not checked"
	keysText       = "Signing keys"
	keysHint       = "Note the fingerprint elsewhere: a receipt is worth as much as the key that you compare with."
	bundleText     = "Take the trail with you"
	bundleHint     = "It is checked without this server: by the verifier, by writ audit verify, or by tools of your own."
	bundleGet      = "Download the bundle"
	sealGet        = "Read seal.json"
	programText    = "Program:"
	actorText      = "Actor"
	actorHelp      = "The id of an account; system or cli."
	objectText     = "Object"
	objectHelp     = "An id, or kind/id."
	filterText     = "Show"
	emptyTitle     = "No entry fits"
	emptyHint      = "The trail has entries, but none of that actor and object."
	deniedText     = "refused"
	failedText     = "failed"
	detailsText    = "Details"
	olderText      = "entries on this page, newest first."
	verifyIntro    = "A receipt or a bundle is checked in your browser, and sent nowhere."
	verifyLocal    = "Open the verifier"
	verifySuspect  = "The verifier comes from the server that it judges. Keep a copy, or use a tool of your own."
	verifyCommands = "The same from a terminal:"
)

// verdictSentence says how the trail stands, by whom that was checked, and when.
func verdictSentence(v stateView) string {
	c := v.Verdict
	switch {
	case c == nil:
		return shell.Plural(v.Size, "entry", "entries") + " sealed. Nobody has had them checked since this server started."
	case c.OK:
		return "Intact to entry " + shell.Count(c.Count) + "."
	case c.BrokeSeq > 0:
		return "Broken at entry " + shell.Count(c.BrokeSeq) + "."
	}
	return "The trail does not hold: " + strings.ReplaceAll(c.Reason, "_", " ") + "."
}

// checkedBefore and checkedBy stand around the time of a verification.
const checkedBefore = "Checked "

func checkedBy(v *verdict) string {
	return " by this server, as " + v.by + " asked. " + anchoredSentence(v)
}

func anchoredSentence(v *verdict) string {
	if v.Anchored == 0 {
		return "No head of it was stamped from outside."
	}
	return "Stamped from outside up to entry " + shell.Count(v.Anchored) + "."
}

// phrase returns what an action did, without its actor and its object.
func phrase(a audit.Action) string {
	switch a {
	case audit.RunSubmit:
		return "submitted"
	case audit.RunRetry:
		return "retried"
	case audit.RunRelaunch:
		return "relaunched the failed hosts of"
	case audit.RunRerun:
		return "ran again"
	case audit.RunReconcile:
		return "asked to reconcile with"
	case audit.RunPlan:
		return "asked to apply a plan with"
	case audit.RunHold:
		return "held"
	case audit.RunApprove:
		return "released"
	case audit.RunReject:
		return "rejected"
	case audit.RunCancel:
		return "canceled"
	case audit.RunStart:
		return "started"
	case audit.RunFinal:
		return "sealed the end of"
	case audit.RunQueue:
		return "moved to another queue"
	case audit.UserPreferences, audit.TeamPreferences:
		return "saved the preferences of"
	case audit.UserPassword:
		return "changed the password of"
	case audit.TokenRevoke, audit.WorkerRevoke:
		return "revoked"
	case audit.AuthLogin:
		return "signed in"
	case audit.AuthLogout:
		return "signed out"
	case audit.TeamMemberAdd:
		return "added a member to"
	case audit.TeamMemberDrop, audit.OrgMemberDrop:
		return "removed a member from"
	case audit.OrgMemberSet:
		return "set a member of"
	case audit.ServiceGenesis:
		return "began the trail"
	case audit.ServiceEpoch:
		return "began an epoch after an accepted rollback"
	case audit.AuditBeat:
		return "noted that it is alive"
	case audit.AuditErase:
		return "erased private values of entries"
	case audit.AuditAnchor:
		return "had the trail stamped from outside"
	case audit.SigningRotate:
		return "changed the signing key"
	case audit.SecretsRewrap:
		return "changed the encryption key"
	case audit.ProjectSync:
		return "synchronised"
	case audit.SourceRefresh:
		return "refreshed"
	case audit.TriggerRotate:
		return "changed the secret of"
	case audit.DeadLetterRetry:
		return "tried again"
	case audit.ImportApply:
		return "applied an import from"
	}
	return commonPhrase(a)
}

// commonPhrase is phrase for actions that several kinds of objects share, and for those of a language model.
func commonPhrase(a audit.Action) string {
	switch a {
	case audit.AIExplain, audit.AIDraft, audit.AIAsk, audit.AIPropose:
		return askedModel(a)
	}
	_, verb, _ := strings.Cut(string(a), ".")
	switch strings.TrimPrefix(verb, "token_") {
	case "create":
		return "created"
	case "update":
		return "changed"
	case "delete":
		return "deleted"
	}
	return ""
}

// askedModel is phrase for the actions of a language model.
func askedModel(a audit.Action) string {
	switch a {
	case audit.AIExplain:
		return "asked the language model to explain"
	case audit.AIAsk:
		return "asked the language model a"
	}
	return "asked the language model for a"
}

// noun returns the word for a kind of object.
func noun(kind string) string {
	switch kind {
	case "credtype", "credential_type":
		return "credential type"
	case "driftignore", "drift_ignore":
		return "ignore rule"
	case "deadletter", "dead_letter":
		return "dead letter"
	case "org":
		return "organization"
	case "user":
		return "account"
	case "ai": // the name says what it is
		return ""
	}
	return strings.ReplaceAll(kind, "_", " ")
}

// objectPath returns the page of an object, empty if it has none.
func objectPath(o audit.Object) string {
	switch o.Kind {
	case "run":
		return "/ui/runs/" + o.ID
	case "project":
		return "/ui/projects/" + o.ID
	case "inventory":
		return "/ui/inventories/" + o.ID
	case "template":
		return "/ui/launch/" + o.ID
	case "schedule":
		return "/ui/schedules/" + o.ID
	case "trigger":
		return "/ui/triggers/" + o.ID
	case "policy":
		return "/ui/trust/policies/" + o.ID
	case "window":
		return "/ui/trust/windows/" + o.ID
	case "credential":
		return "/ui/settings/credentials/" + o.ID
	}
	return ""
}

func objectName(o audit.Object) string {
	name := o.Name
	if name == "" {
		name = shell.ShortID(o.ID)
	}
	return strings.TrimSpace(noun(o.Kind) + " " + name)
}
