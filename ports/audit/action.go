package audit

// Action names what was done, in the form <noun>.<verb>. Only listed actions are accepted.
type Action string

// The actions on runs. A request has one entry of its own: the submission, the decision or the cancel. Its
// consequences, such as a hold, a start and an end, have further entries.
const (
	RunSubmit    Action = "run.submit" // also for pipelines
	RunRetry     Action = "run.retry"
	RunRelaunch  Action = "run.relaunch"
	RunRerun     Action = "run.rerun"
	RunReconcile Action = "run.reconcile"
	RunPlan      Action = "run.plan" // a dry run asks to apply its plan
	RunHold      Action = "run.hold"
	RunApprove   Action = "run.approve"
	RunReject    Action = "run.reject"
	RunCancel    Action = "run.cancel"
	RunQueue     Action = "run.queue" // a pending run moves to another queue
	RunStart     Action = "run.start"
	RunFinal     Action = "run.final" // the end, with the digest of the run's results
)

// The actions on access and permissions.
const (
	UserCreate   Action = "user.create"
	UserUpdate   Action = "user.update"
	UserDelete   Action = "user.delete"
	UserPassword Action = "user.password" //nolint:gosec // the name of an action
	// UserPreferences has the number of bytes alone: the preferences are the account's own matter.
	UserPreferences Action = "user.preferences"
	TokenCreate     Action = "token.create"
	TokenRevoke     Action = "token.revoke"
	WorkerMint      Action = "worker.token_create"
	WorkerRevoke    Action = "worker.token_revoke"
	AuthLogin       Action = "auth.login"
	AuthLogout      Action = "auth.logout"
	TeamCreate      Action = "team.create"
	TeamDelete      Action = "team.delete"
	// TeamPreferences has the number of bytes alone, as UserPreferences has.
	TeamPreferences Action = "team.preferences"
	TeamMemberAdd   Action = "team.member_add"
	TeamMemberDrop  Action = "team.member_remove"
	OrgCreate       Action = "org.create"
	OrgDelete       Action = "org.delete"
	OrgMemberSet    Action = "org.member_set"
	OrgMemberDrop   Action = "org.member_remove"
	GrantCreate     Action = "grant.create"
	GrantDelete     Action = "grant.delete"
	ServiceGenesis  Action = "svc.genesis" // the first entry of a chain
	ServiceEpoch    Action = "svc.epoch"   // the first entry after an accepted rollback
	AuditBeat       Action = "audit.beat"  // a beat: the service was alive; with the number of recorded entries
	AuditErase      Action = "audit.erase"
	AuditAnchor     Action = "audit.anchor" // an outsider got a head
	SigningRotate   Action = "key.rotate"
)

// The actions on launchable objects and their triggers. A launch is a submission of a run.
const (
	ProjectCreate   Action = "project.create"
	ProjectUpdate   Action = "project.update"
	ProjectDelete   Action = "project.delete"
	ProjectSync     Action = "project.sync"
	InventoryCreate Action = "inventory.create"
	InventoryUpdate Action = "inventory.update"
	InventoryDelete Action = "inventory.delete"
	SourceCreate    Action = "source.create"
	SourceUpdate    Action = "source.update"
	SourceDelete    Action = "source.delete"
	SourceRefresh   Action = "source.refresh" // by a request, or by the schedule if it changed the inventory
	TemplateCreate  Action = "template.create"
	TemplateUpdate  Action = "template.update"
	TemplateDelete  Action = "template.delete"
	ScheduleCreate  Action = "schedule.create"
	ScheduleUpdate  Action = "schedule.update"
	ScheduleDelete  Action = "schedule.delete"
	TriggerCreate   Action = "trigger.create"
	TriggerUpdate   Action = "trigger.update"
	TriggerDelete   Action = "trigger.delete"
	TriggerRotate   Action = "trigger.rotate_secret"
)

// The actions on policies and windows.
const (
	PolicyCreate Action = "policy.create"
	PolicyUpdate Action = "policy.update"
	PolicyDelete Action = "policy.delete"
	WindowCreate Action = "window.create"
	WindowUpdate Action = "window.update"
	WindowDelete Action = "window.delete"
)

// The actions on rules that leave drift out.
const (
	DriftIgnoreCreate Action = "driftignore.create"
	DriftIgnoreUpdate Action = "driftignore.update"
	DriftIgnoreDelete Action = "driftignore.delete"
)

// The actions on queues.
const (
	QueueUpdate Action = "queue.update"
)

// The actions on secrets.
const (
	CredentialCreate     Action = "credential.create"
	CredentialUpdate     Action = "credential.update"
	CredentialDelete     Action = "credential.delete"
	CredentialTypeCreate Action = "credtype.create"
	CredentialTypeUpdate Action = "credtype.update"
	CredentialTypeDelete Action = "credtype.delete"
	SecretsRewrap        Action = "key.rewrap" // every secret is wrapped under another key
)

// The actions on messages that a subscriber did not handle.
const (
	DeadLetterRetry  Action = "deadletter.retry"
	DeadLetterDelete Action = "deadletter.delete"
)

// The actions on imports. What an import writes has entries of its own beside this one.
const (
	ImportApply Action = "import.apply"
)

// The actions of a language model, with the digests of what it was sent and of its answer. A run that it proposed has
// the entries of every run beside that.
const (
	AIExplain Action = "ai.explain"
	AIDraft   Action = "ai.draft"
	AIAsk     Action = "ai.ask"
	AIPropose Action = "ai.propose"
)

// Actions lists every action.
func Actions() []Action {
	return []Action{
		RunSubmit, RunRetry, RunRelaunch, RunRerun, RunReconcile, RunPlan, RunHold, RunApprove, RunReject, RunCancel,
		RunQueue, RunStart,
		RunFinal,
		UserCreate, UserUpdate, UserDelete, UserPassword, UserPreferences,
		TokenCreate, TokenRevoke, WorkerMint, WorkerRevoke, AuthLogin,
		AuthLogout,
		TeamCreate, TeamDelete, TeamPreferences, TeamMemberAdd, TeamMemberDrop,
		OrgCreate, OrgDelete, OrgMemberSet, OrgMemberDrop,
		GrantCreate, GrantDelete, ServiceGenesis, ServiceEpoch, AuditBeat, AuditErase, AuditAnchor,
		SigningRotate,
		ProjectCreate, ProjectUpdate, ProjectDelete, ProjectSync, InventoryCreate, InventoryUpdate, InventoryDelete,
		SourceCreate, SourceUpdate, SourceDelete, SourceRefresh, TemplateCreate, TemplateUpdate, TemplateDelete,
		ScheduleCreate, ScheduleUpdate, ScheduleDelete, TriggerCreate, TriggerUpdate, TriggerDelete, TriggerRotate,
		PolicyCreate, PolicyUpdate, PolicyDelete, QueueUpdate, WindowCreate, WindowUpdate, WindowDelete,
		DriftIgnoreCreate, DriftIgnoreUpdate, DriftIgnoreDelete,
		CredentialCreate, CredentialUpdate, CredentialDelete, CredentialTypeCreate, CredentialTypeUpdate,
		CredentialTypeDelete,
		SecretsRewrap, DeadLetterRetry, DeadLetterDelete, ImportApply,
		AIExplain, AIDraft, AIAsk, AIPropose,
	}
}
