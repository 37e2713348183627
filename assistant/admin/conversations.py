"""Conversations and their messages, to read; nobody changes what was said."""

import json
from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import Truncator
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display

from assistant import transcripts
from assistant.models import UNFINISHED, Conversation, Message
from inference.models import Generation
from orders.admin import (
    Badge,
    CustomerAdmin,
    Looks,
    OrderAdmin,
    ReadOnlyMixin,
    ReadOnlyPage,
    page_of,
)

MESSAGES_A_PAGE = 100
HOLDERS = Looks(
    {
        Conversation.Holder.ASSISTANT: ("●", "plain"),
        Conversation.Holder.WAITING: ("▲", "warning"),
        Conversation.Holder.AGENT: ("◆", "info"),
        Conversation.Holder.CLOSED: ("✓", "success"),
    }
)


class TroubleFilter(admin.SimpleListFilter):
    title = "answers"
    parameter_name = "answers"
    _STATUSES = {
        "failed": (Message.Status.FAILED,),
        "guarded": (Message.Status.GUARDED,),
        "unfinished": UNFINISHED,
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("failed", "A failed one"),
            ("guarded", "One cut by the guard"),
            ("unfinished", "Being answered now"),
        ]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Conversation]
    ) -> QuerySet[Conversation] | None:
        statuses = self._STATUSES.get(self.value() or "")
        if statuses is None:
            return None
        found = Message.objects.filter(conversation=OuterRef("pk"), status__in=statuses)
        return queryset.filter(Exists(found))


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyPage):
    list_display = (
        "short_id",
        "customer_link",
        "order_link",
        "holder_badge",
        "last_words",
        "messages_count",
        "last_activity_at",
    )
    list_filter = ("holder", TroubleFilter, "last_activity_at", "order__restaurant")
    search_fields = ("^public_id", "customer__name", "customer__user__username", "order__number")
    search_help_text = "Customer, order number or conversation id"
    date_hierarchy = "created_at"
    list_select_related = ("customer", "order")
    list_per_page = 50
    change_form_template = "admin/assistant/conversation/transcript.html"
    fields = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        rows: QuerySet[Conversation] = super().get_queryset(request)
        of_this = Message.objects.filter(conversation=OuterRef("pk")).order_by("-seq")
        return rows.annotate(
            last_text=Subquery(of_this.exclude(text="").values("text")[:1]),
            last_author=Subquery(of_this.exclude(text="").values("author")[:1]),
            messages_count=Subquery(
                of_this.order_by().values("conversation").annotate(n=Count("pk")).values("n")
            ),
        )

    def page_context(self, request: HttpRequest, row: Conversation) -> dict[str, Any]:
        return _transcript(request, row)

    @display(description="Conversation", ordering="pk")
    def short_id(self, conversation: Conversation) -> str:
        return str(conversation.public_id)[:8]

    @display(description="Customer", ordering="customer__name")
    def customer_link(self, conversation: Conversation) -> str:
        return page_of(conversation.customer)

    @display(description="Order", ordering="order__number")
    def order_link(self, conversation: Conversation) -> str:
        return page_of(conversation.order)

    @display(description="Held by", ordering="holder", label=HOLDERS.tones)
    def holder_badge(self, conversation: Conversation) -> Badge:
        return HOLDERS.badge(Conversation.Holder(conversation.holder))

    @display(description="Last words")
    def last_words(self, conversation: Any) -> str:
        if not conversation.last_text:
            return "–"
        author = Message.Author(conversation.last_author).label
        return f"{author}: {Truncator(conversation.last_text).chars(70)}"

    @display(description="Messages", ordering="messages_count")
    def messages_count(self, conversation: Any) -> int:
        return conversation.messages_count or 0


def _transcript(request: HttpRequest, conversation: Conversation) -> dict[str, Any]:
    rows = conversation.messages.select_related("order", "prompt").order_by("seq")
    pages = Paginator(rows, MESSAGES_A_PAGE)
    wanted: Any = request.GET.get("page") or pages.num_pages
    if (seq := request.GET.get("seq", "")).isascii() and seq.isdecimal() and len(seq) < 19:
        wanted = rows.filter(seq__lt=int(seq)).count() // MESSAGES_A_PAGE + 1
    page = pages.get_page(wanted)
    return {
        "conversation": conversation,
        "holder": HOLDERS.text(Conversation.Holder(conversation.holder)),
        "customer": page_of(conversation.customer),
        "order": page_of(conversation.order),
        "page": page,
        "lines": transcripts.lines(list(page.object_list)),
        "title": f"{conversation} with {conversation.customer.name}",
    }


@admin.register(Message)
class MessageAdmin(ReadOnlyMixin, ModelAdmin):
    list_display = (
        "words",
        "author",
        "status_badge",
        "source",
        "customer_link",
        "order_link",
        "conversation_link",
        "created_at",
    )
    list_filter = ("author", "status", "source", "offered", "category", "created_at")
    search_fields = ("text", "^public_id", "customer__name", "order__number")
    search_help_text = "Words, customer, order number or message id"
    list_select_related = ("customer", "order", "conversation")
    ordering = ("-pk",)
    list_per_page = 50
    show_full_result_count = False
    readonly_fields = ("run", "conversation_link", "facts_text", "choices_text")
    fieldsets = (
        (None, {"fields": ("text", ("author", "source"), ("status", "error"))}),
        (
            "Where",
            {"fields": (("conversation_link", "seq"), ("customer", "order"), "answer_to", "run")},
        ),
        ("Told to the model", {"fields": ("prompt", "facts_text")}),
        (
            "More",
            {
                "fields": (
                    ("created_at", "finished_at"),
                    ("category", "offered"),
                    ("no_cache", "choices_text"),
                    ("revision", "epoch"),
                    ("public_id", "client_id"),
                )
            },
        ),
    )

    @display(description="Message", ordering="text")
    def words(self, message: Message) -> str:
        return Truncator(message.text).chars(80) or "(no words yet)"

    @display(description="Status", ordering="status", label=transcripts.TONES)
    def status_badge(self, message: Message) -> Badge:
        return message.status, transcripts.status_text(message)

    @display(description="Customer", ordering="customer__name")
    def customer_link(self, message: Message) -> str:
        return page_of(message.customer)

    @display(description="Order", ordering="order__number")
    def order_link(self, message: Message) -> str:
        return page_of(message.order)

    @display(description="Conversation")
    def conversation_link(self, message: Message) -> str:
        return place_of(message.conversation_id, message.seq, str(message.conversation))

    @display(description="Facts")
    def facts_text(self, message: Message) -> str:
        if not message.facts:
            return "–"
        text = json.dumps(message.facts, ensure_ascii=False, indent=2)
        return format_html('<pre class="qb-values">{}</pre>', text)

    @display(description="Choices offered")
    def choices_text(self, message: Message) -> str:
        return ", ".join(str(choice.get("label", choice)) for choice in message.choices) or "–"

    @display(description="Engine run")
    def run(self, message: Message) -> str:
        return page_of(Generation.objects.filter(answer_id=message.public_id).first())


def place_of(conversation_id: int, seq: int, text: str) -> str:
    """A link to a message's place in its transcript."""
    url = reverse("admin:assistant_conversation_change", args=[conversation_id])
    return format_html('<a class="qb-link" href="{}?seq={}#message-{}">{}</a>', url, seq, seq, text)


class ConversationInline(ReadOnlyMixin, TabularInline):
    """The chats about an order or of a customer, on their pages."""

    model = Conversation
    fields = ("conversation", "holder", "created_at", "last_activity_at")
    readonly_fields = fields
    template = "admin/assistant/conversation/inline.html"
    hide_title = True
    extra = 0
    per_page = 10

    @display(description="Conversation")
    def conversation(self, conversation: Conversation) -> str:
        return page_of(conversation)


OrderAdmin.inlines.append(ConversationInline)
CustomerAdmin.inlines.append(ConversationInline)
