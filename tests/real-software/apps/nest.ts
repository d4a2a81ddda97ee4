// NestJS as its guide writes it: module, controller, provider, pipe, guard, interceptor, filter.

import 'reflect-metadata';
import {
  Body, CanActivate, Controller, ExecutionContext, ForbiddenException, Get, Header, HttpCode, Injectable,
  Module, NestInterceptor, CallHandler, Param, ParseIntPipe, Post, Query, Sse, StreamableFile, UseGuards, UseInterceptors,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { interval, map, take } from 'rxjs';

@Injectable()
class CatsService {
  readonly #cats = [{ id: 1, name: 'Tom' }];

  find(id: number) {
    return this.#cats.find((cat) => cat.id === id) ?? null;
  }
}

@Injectable()
class Guard implements CanActivate {
  canActivate(context: ExecutionContext) {
    if (context.switchToHttp().getRequest().headers.authorization === 'let me in') return true;
    throw new ForbiddenException('go away');
  }
}

@Injectable()
class Wrap implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(map((data) => ({ data })));
  }
}

@Controller('cats')
class CatsController {
  constructor(private readonly cats: CatsService) {}

  @Get(':id')
  @UseInterceptors(Wrap)
  find(@Param('id', ParseIntPipe) id: number, @Query('q') q: string) {
    return { cat: this.cats.find(id), q: q ?? 'none' };
  }

  @Post()
  @HttpCode(202)
  @Header('X-Made', 'yes')
  create(@Body() body: object) {
    return body;
  }

  @Get('secret/place')
  @UseGuards(Guard)
  secret() {
    return 'secret';
  }

  @Get('file/stream')
  file() {
    return new StreamableFile(Buffer.from('file content'), { type: 'text/plain' });
  }

  @Sse('events/stream')
  events() {
    return interval(10).pipe(take(3), map((number) => ({ data: { number } })));
  }
}

@Module({ controllers: [CatsController], providers: [CatsService, Guard] })
class AppModule {}

async function bootstrap() {
  const app = await NestFactory.create(AppModule, { logger: false });
  app.enableShutdownHooks();
  await app.listen(process.env.PORT ?? 0, '127.0.0.1');
  console.log(`listening on ${app.getHttpServer().address().port}`);
}
bootstrap();
