"""The chat's WebSocket: reads frames, calls one function each, sends frames."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, ClassVar
from uuid import UUID

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import InterfaceError, OperationalError
from redis.exceptions import RedisError

from assistant import answers, conversations, events, frames, identity, selectors, turns
from assistant.conversations import Question, Turn
from assistant.db import in_db
from assistant.errors import AssistantError, NotOpen, ServiceUnavailable, SessionExpired
from assistant.models import Conversation
from assistant.presenters import message_view, message_views, order_view
from inference import dispatch
from inference.journal import Piece
from orders.models import Customer
from orders.selectors import OrderFacts

logger = logging.getLogger(__name__)

#: Seconds that the channel layer may take before a chat goes on without it.
_PATIENCE_S = 2.0


class ChatConsumer(AsyncWebsocketConsumer):
    """One tab of one customer. Every frame is authorised anew, and what cannot be done is answered
    with an ``error`` frame: nothing that a client sends closes its socket.
    """

    conversation: Conversation | None = None
    order_group: str | None = None

    async def connect(self) -> None:
        self.followed: dict[str, asyncio.Task[None]] = {}
        #: The revision in which each message was shown last: one change is sent once, whether its
        #: event or this socket's own reading of it comes first.
        self.revisions: dict[str, int] = {}
        await self.accept(
            frames.PROTOCOL if frames.PROTOCOL in self.scope.get("subprotocols", ()) else None
        )

    async def disconnect(self, code: int) -> None:
        await self._leave()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        frame = None
        try:
            frame = frames.parse(text_data, bytes_data)
            customer = await in_db(identity.signed_in_customer)(self.scope)
            await self._handlers[type(frame)](self, customer, frame)
        except SessionExpired as error:
            # Nothing more is shown to whoever sits there now.
            await self._leave()
            await self._refuse(error, frame)
        except AssistantError as error:
            await self._refuse(error, frame)
        except (OperationalError, InterfaceError, RedisError, OSError) as error:
            logger.warning("a backing service is away: %s", error)
            await self._refuse(ServiceUnavailable(), frame)
        except Exception:
            logger.exception("a frame could not be handled")
            await self._refuse(AssistantError(), frame)

    async def _refuse(self, error: AssistantError, frame: object) -> None:
        about = {"client_id": error.client_id} if error.client_id else frames.subject(frame)
        await self._send(frames.Error(code=error.code, text=error.text, retry=error.retry, **about))

    async def _send(self, frame: frames.ServerFrame) -> None:
        await self.send(text_data=frames.encode(frame))

    async def _show(self, view: frames.MessageView) -> None:
        if self.revisions.get(view.id, -1) < view.revision:
            self.revisions[view.id] = view.revision
            await self._send(frames.Message(message=view))

    # ---- what the client may send -------------------------------------------------------------

    async def on_open(self, customer: Customer, frame: frames.Open) -> None:
        conversation = await in_db(conversations.open_conversation)(
            customer, conversation=frame.conversation, order=frame.order, new=frame.new
        )
        await self._leave()
        self.conversation = conversation
        # Join first, read then: what happens in between comes twice rather than never.
        await self._join(events.conversation_group(conversation.public_id))
        partial = frame.revision is not None and frame.conversation is not None
        if frame.revision is not None and partial:
            revision, rows = await in_db(selectors.changes)(conversation, frame.revision)
            page = selectors.Page(rows)
        else:
            page = await in_db(selectors.newest)(conversation)
            revision = max((row.revision for row in page.messages), default=0)
        facts = await in_db(selectors.current_order)(conversation)
        await self._watch_order(facts)
        await self._send(
            frames.Ready(
                conversation=str(conversation.public_id),
                revision=revision,
                holder=conversation.holder,
                messages=message_views(page.messages),
                more=page.more,
                partial=partial,
                customer=customer.name,
                engine=await self._engine(),
                max_chars=settings.ASSISTANT_MAX_QUESTION_CHARS,
                order=order_view(facts) if facts else None,
            )
        )
        # Whatever is unfinished goes on where this client's text ends, though its row is unchanged.
        for answer_id in await in_db(selectors.unfinished_in)(conversation):
            self._follow(answer_id, max(0, frame.offsets.get(answer_id, 0)))

    async def on_ask(self, customer: Customer, frame: frames.Ask) -> None:
        await self._take_turn(customer, frame.client_id, frame.text, frame.order, frame.no_cache)

    async def on_choose(self, customer: Customer, frame: frames.Choose) -> None:
        await self._take_turn(customer, frame.client_id, frame.order, frame.order, choosing=True)

    async def _take_turn(
        self,
        customer: Customer,
        client_id: str,
        text: str,
        order: str | None,
        no_cache: bool = False,
        *,
        choosing: bool = False,
    ) -> None:
        conversation = self._opened()
        asked = Question(
            customer=customer,
            conversation=conversation.public_id,
            client_id=client_id,
            text=text,
            order=order,
            choosing=choosing,
            no_cache=no_cache,
        )
        turn = await turns.take_turn(asked, self._acknowledge)
        order_id = turn.question.order_id
        if order_id is not None and events.order_group(order_id) != self.order_group:
            await self.order_changed({})  # the card on top shows the order that is meant now

    async def _acknowledge(self, turn: Turn) -> None:
        question_view, *answer_views = message_views(turn.messages)
        for view in (question_view, *answer_views):
            self.revisions[view.id] = view.revision
        await self._send(
            frames.Ack(
                client_id=turn.question.client_id,
                question=question_view,
                answer=answer_views[0] if answer_views else None,
            )
        )
        self._follow_turn(turn)

    async def on_stop(self, customer: Customer, frame: frames.Stop) -> None:
        answer = await in_db(selectors.own_answer)(customer, self._opened(), frame.message)
        if answer.unfinished:
            await answers.stop(answer)
            self._follow(frame.message, None)
        else:
            await self._send(frames.Message(message=message_view(answer)))

    async def on_retry(self, customer: Customer, frame: frames.Retry) -> None:
        await turns.take_retry(customer, self._opened(), frame.message, self._show_retry)

    async def _show_retry(self, turn: Turn) -> None:
        for view in message_views(turn.messages[1:]):
            await self._show(view)
        self._follow_turn(turn)

    async def on_resume(self, customer: Customer, frame: frames.Resume) -> None:
        answer = await in_db(selectors.own_answer)(customer, self._opened(), frame.message)
        if answer.unfinished:
            await self._unfollow(frame.message)
            self._follow(frame.message, max(0, frame.offset))
        else:
            await self._send(frames.Message(message=message_view(answer)))

    async def on_sync(self, customer: Customer, frame: frames.Sync) -> None:
        revision, rows = await in_db(selectors.changes)(self._opened(), frame.revision)
        await self._send(
            frames.Changes(
                revision=revision, messages=message_views(rows), engine=await self._engine()
            )
        )
        for row in rows:
            if row.unfinished:
                self._follow(str(row.public_id), 0)

    async def on_history(self, customer: Customer, frame: frames.History) -> None:
        page = await in_db(selectors.older)(self._opened(), frame.before)
        await self._send(frames.Older(messages=message_views(page.messages), more=page.more))

    _handlers: ClassVar[dict[type, Callable[["ChatConsumer", Customer, Any], Awaitable[None]]]] = {
        frames.Open: on_open,
        frames.Ask: on_ask,
        frames.Choose: on_choose,
        frames.Stop: on_stop,
        frames.Retry: on_retry,
        frames.Resume: on_resume,
        frames.Sync: on_sync,
        frames.History: on_history,
    }

    # ---- what happens elsewhere ----------------------------------------------------------------

    async def message_changed(self, event: dict[str, Any]) -> None:
        if self.conversation is None or event["conversation"] != str(self.conversation.public_id):
            return  # of a chat that this tab has left
        view = events.view_of(event)
        await self._show(view)
        if view.status in ("queued", "streaming"):
            self._follow(view.id, 0)

    async def order_changed(self, event: dict[str, Any]) -> None:
        try:
            facts = await in_db(selectors.current_order)(self._opened())
            await self._watch_order(facts)
            await self._send(frames.OrderChanged(order=order_view(facts) if facts else None))
        except (AssistantError, OperationalError, InterfaceError, RedisError, OSError) as error:
            logger.warning("the order card could not be renewed: %s", error)

    # ---- following answers ---------------------------------------------------------------------

    def _follow_turn(self, turn: Turn) -> None:
        if turn.answer is not None and turn.answer.unfinished:
            self._follow(str(turn.answer.public_id), 0)

    def _follow(self, answer_id: str, offset: int | None) -> None:
        """Stream an answer in a task of its own: the consumer must hear ``stop`` meanwhile."""
        if answer_id in self.followed or self.conversation is None:
            return
        task = asyncio.create_task(
            self._stream(answer_id, self.conversation.public_id, offset or 0)
        )
        self.followed[answer_id] = task

    async def _unfollow(self, answer_id: str) -> None:
        if task := self.followed.pop(answer_id, None):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _stream(self, answer_id: str, public_id: UUID, offset: int) -> None:
        pause = 0.2
        try:
            while True:
                try:
                    async with aclosing(
                        answers.follow(UUID(answer_id), public_id, offset)
                    ) as answer:
                        async for found in answer:
                            if isinstance(found, Piece):
                                await self._send_text(answer_id, found)
                                offset = found.end
                            else:
                                await self._show(message_view(found))
                    return
                except (OperationalError, InterfaceError, RedisError, OSError) as error:
                    # The answer goes on; this reader takes it up again when it can.
                    logger.warning("following %s is interrupted: %s", answer_id, error)
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, 5.0)
        except Exception:
            logger.exception("following %s broke", answer_id)
        finally:
            if self.followed.get(answer_id) is asyncio.current_task():
                del self.followed[answer_id]

    async def _send_text(self, answer_id: str, piece: Piece) -> None:
        await self._send(
            frames.Token(message=answer_id, offset=piece.offset, end=piece.end, text=piece.text)
        )

    # ---- small things --------------------------------------------------------------------------

    def _opened(self) -> Conversation:
        if self.conversation is None:
            raise NotOpen
        return self.conversation

    async def _engine(self) -> frames.EngineView:
        try:
            found = await dispatch.hosts()
        except Exception as error:
            logger.warning("the hosts cannot be asked: %s", error)
            found = []
        state = "warming_up" if found else "away"
        if any(host.state == "ready" for host in found):
            state = "ready"
        return frames.EngineView(state=state, simulated=settings.ENGINE == "simulated")

    async def _watch_order(self, facts: OrderFacts | None) -> None:
        group = events.order_group(facts.order_id) if facts else None
        if group == self.order_group:
            return
        if self.order_group:
            await self._part(self.order_group)
        if group:
            await self._join(group)
        self.order_group = group

    async def _join(self, group: str) -> None:
        """Hear of a group's events; without the channel layer, heartbeats have to do."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self.channel_layer.group_add(group, self.channel_name)
        except (RedisError, OSError) as error:
            logger.warning("events of %s do not reach this socket: %s", group, error)

    async def _part(self, group: str) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self.channel_layer.group_discard(group, self.channel_name)
        except (RedisError, OSError) as error:
            logger.info("leaving %s: %s", group, error)

    async def _leave(self) -> None:
        """Stop showing the open chat: its answers, its events, its order."""
        followers = list(self.followed.values())
        for task in followers:
            task.cancel()
        await asyncio.gather(*followers, return_exceptions=True)
        self.followed.clear()
        self.revisions.clear()
        groups = [self.order_group]
        if self.conversation is not None:
            groups.append(events.conversation_group(self.conversation.public_id))
        self.conversation, self.order_group = None, None
        for group in groups:
            if group:
                await self._part(group)
