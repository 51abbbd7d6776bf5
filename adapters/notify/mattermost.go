package notify

// mattermostBody is a message that is one attachment. Its texts are markdown.
func mattermostBody(r report) object {
	return object{"attachments": []object{{
		"color": r.tone.colour(), "fallback": fit(r.title, 2*maxSentence, unmentioned), "text": "**" + fit(r.title, 2*maxSentence, forMattermost) + "**",
		"fields": fields(r, forMattermost),
	}}}
}
